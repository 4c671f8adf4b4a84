import { describe, expect, it, test } from 'vitest';
import { durationText, parseDuration } from './duration.ts';
import { elementText, parseElements, verdictTarget } from './elements.ts';
import { intervalText, mergedIntervals, parseInterval } from './interval.ts';
import { Scanner } from './scanner.ts';
import { canonicalAddress, canonicalPrefix, canonicalRange, typedText } from './types.ts';

describe('canonicalAddress', () => {
  test.for<[text: string, canonical: string | undefined]>([
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0', undefined],
    ['::', '::'],
    ['::1', '::1'],
    ['fd00::', 'fd00::'],
    ['FD00::1', 'fd00::1'],
    ['fd00:0:0:1::', 'fd00:0:0:1::'],
    ['fd00:0:0:0:0:0:0:1', 'fd00::1'],
    ['fd00::0001', 'fd00::1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['1::3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
    ['1:0:0:4:0:0:0:8', '1:0:0:4::8'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['fe80::1%eth0', undefined],
    ['1::2::3', undefined],
  ])('%s: %s', ([text, canonical]) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });
});

describe('ranges and prefixes', () => {
  it('clears host bits, and leaves out a prefix that says nothing', () => {
    expect(canonicalPrefix('10.1.2.3', 8)).toBe('10.0.0.0/8');
    expect(canonicalPrefix('10.1.2.3', 32)).toBe('10.1.2.3');
    expect(canonicalPrefix('fd00::1:2', 112)).toBe('fd00::1:0/112');
    expect(canonicalPrefix('fd00::1', 128)).toBe('fd00::1');
    expect(canonicalPrefix('10.1.2.3', 33)).toBeUndefined();
  });

  it('writes a range as a prefix where it is one', () => {
    expect(canonicalRange('10.0.0.0', '10.0.0.255')).toBe('10.0.0.0/24');
    expect(canonicalRange('10.0.0.1', '10.0.0.255')).toBe('10.0.0.1-10.0.0.255');
    expect(canonicalRange('10.0.0.1', '10.0.0.2')).toBe('10.0.0.1-10.0.0.2');
    expect(canonicalRange('0.0.0.0', '255.255.255.255')).toBe('0.0.0.0/0');
    expect(canonicalRange('fd00::', 'fd00::ffff')).toBe('fd00::/112');
    expect(canonicalRange('80', '90')).toBe('80-90');
    expect(canonicalRange('80', '80')).toBe('80');
    expect(canonicalRange('90', '80')).toBeUndefined();
    expect(canonicalRange('10.0.0.1', 'fd00::1')).toBeUndefined();
  });

  it('joins intervals that touch or overlap', () => {
    const merged = (type: string, ...texts: string[]): string[] =>
      mergedIntervals(texts.map((text) => parseInterval(type, text)).filter((one) => one !== undefined)).map(
        (one) => intervalText(type, one),
      );
    expect(merged('ipv4_addr', '10.128.0.0/9', '10.0.0.0/9', '10.1.0.0/16', '11.0.0.1')).toEqual([
      '10.0.0.0/8',
      '11.0.0.1',
    ]);
    expect(merged('inet_service', '443', '80', '82-90', '81')).toEqual(['80-90', '443']);
    expect(merged('ipv6_addr', 'fd00::/65', 'fd00:0:0:0:8000::/65')).toEqual(['fd00::/64']);
  });
});

test.for<[type: string, text: string, typed: string | undefined]>([
  ['inet_proto', '6', 'tcp'],
  ['inet_proto', 'sctp', 'sctp'],
  ['inet_proto', '200', '200'],
  ['inet_proto', '256', undefined],
  ['inet_proto', 'http', undefined],
  ['inet_service', '65535', '65535'],
  ['inet_service', '65536', undefined],
  ['inet_service', '80-65536', undefined],
  ['mark', '4294967295', '4294967295'],
  ['mark', '4294967296', undefined],
  ['ipv4_addr', '10.0.0.0/8', '10.0.0.0/8'],
  ['ipv4_addr', 'fd00::1', undefined],
  ['ipv6_addr', '10.0.0.1', undefined],
  ['ifname', 'cni*', 'cni*'],
  ['ifname', 'a b', undefined],
])('%s %s: %s', ([type, text, typed]) => {
  expect(typedText(type, text)).toBe(typed);
});

test('times are read and written as nft does', () => {
  expect(parseDuration('4m59s880ms')).toBe(299_880);
  expect(parseDuration('10800s')).toBe(10_800_000);
  expect(durationText(10_800_000)).toBe('3h');
  expect(durationText(299_880)).toBe('4m59s880ms');
  expect(durationText(90_061_001)).toBe('1d1h1m1s1ms');
  expect(durationText(0)).toBe('0s');
});

test('elements are written as they were read', () => {
  const text =
    '{ 10.0.0.1 . tcp . 80 comment "ns/x:p" : goto pick-3, 10.0.0.2 timeout 3h expires 1h59m59s988ms, * : drop }';
  expect(parseElements(new Scanner(text)).map(elementText)).toEqual([
    '10.0.0.1 . tcp . 80 comment "ns/x:p" : goto pick-3',
    '10.0.0.2 timeout 3h expires 1h59m59s988ms',
    '* : drop',
  ]);
});

test('a verdict says where it leads', () => {
  expect(['goto a/b.c', 'jump d', 'drop', '10.0.0.1 . 80'].map(verdictTarget)).toEqual([
    'a/b.c',
    'd',
    undefined,
    undefined,
  ]);
});
