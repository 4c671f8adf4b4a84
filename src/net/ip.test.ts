import { BlockList, isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  canonicalCidr,
  canonicalIP,
  cidrContains,
  compareText,
  disjointCidrs,
  familyOf,
  prefixLength,
  specialAddress,
} from './ip.ts';

const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((bytes) => bytes.join('.'));

/** Eight groups, zeros more often than chance has them: runs of zeros are what RFC 5952 is about. */
const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });

/** Networks in a small part of the address space, so that many of them nest. */
const nestedCidr = fc.oneof(
  fc
    .tuple(fc.nat(3), fc.nat(255), fc.integer({ min: 0, max: 32 }))
    .map(([a, b, length]) => `10.${a}.${b}.128/${length}`),
  fc
    .tuple(fc.nat(3), fc.nat(0xffff), fc.integer({ min: 0, max: 128 }))
    .map(([a, b, length]) => `fd00:${a}::${b.toString(16)}/${length}`),
);

function known(text: string | undefined): string {
  if (text === undefined) throw new Error('expected an address');
  return text;
}

/** RFC 5952 written a second time: the first longest run of two or more zero groups becomes `::`. */
function rfc5952(numbers: readonly number[]): string {
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start += 1) {
    let length = 0;
    while (start + length < 8 && numbers[start + length] === 0) length += 1;
    if (length > best.length) best = { start, length };
  }
  const hex = numbers.map((number) => number.toString(16));
  if (best.length < 2) return hex.join(':');
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`;
}

describe('canonicalIP', () => {
  test.for([
    ['10.96.0.1', '10.96.0.1'],
    ['010.096.000.001', '10.96.0.1'],
    ['0010.0.0.00001', '10.0.0.1'],
    ['08.09.0.1', '8.9.0.1'],
    ['::ffff:10.96.0.1', '10.96.0.1'],
    ['::FFFF:0a60:1', '10.96.0.1'],
    ['0:0:0:0:0:ffff:a60:1', '10.96.0.1'],
    ['::10.96.0.1', '::a60:1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::1', '::1'],
  ] as const)('%s is %s', ([text, canonical]) => {
    expect(canonicalIP(text)).toBe(canonical);
  });

  test.for([
    '',
    ' 10.0.0.1',
    '10.0.0.1 ',
    '10.0.0',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '10.0.0.256',
    '10.0.0.0300',
    '10.0.0.1/32',
    '10.0.0.1:80',
    '1.2.3.4.5',
    'fe80::1%eth0',
    '::ffff:10.0.0.1%1',
    '::ffff:010.0.0.1',
    '[::1]',
    '1::2::3',
    '12345::',
    'None',
  ])('"%s" is no address', (text) => {
    expect(canonicalIP(text)).toBeUndefined();
  });

  it('leaves every plain IPv4 address as it is, whatever zeros were put in front', () => {
    fc.assert(
      fc.property(ipv4, fc.array(fc.nat(3), { minLength: 4, maxLength: 4 }), (address, zeros) => {
        const padded = address.split('.').map((part, index) => '0'.repeat(zeros[index] ?? 0) + part);
        expect(canonicalIP(address)).toBe(address);
        expect(canonicalIP(padded.join('.'))).toBe(address);
        expect(canonicalIP(`::ffff:${address}`)).toBe(address);
      }),
    );
  });

  it('writes IPv6 as RFC 5952 has it', () => {
    fc.assert(
      fc.property(groups, (numbers) => {
        const mapped = numbers[5] === 0xffff && numbers.slice(0, 5).every((number) => number === 0);
        fc.pre(!mapped);
        const full = numbers.map((number) => number.toString(16).padStart(4, '0').toUpperCase()).join(':');
        expect(canonicalIP(full)).toBe(rfc5952(numbers));
      }),
    );
  });

  it('gives something that is its own canonical form, or nothing, for any text', () => {
    const alphabet = fc.constantFrom(...'0123456789abcdefF:.%/ x'.split(''));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: alphabet, maxLength: 20 }), fc.ipV6()), (text) => {
        const address = canonicalIP(text);
        if (address === undefined) return;
        expect(isIP(address)).not.toBe(0);
        expect(canonicalIP(address)).toBe(address);
      }),
    );
  });
});

describe('canonicalCidr', () => {
  test.for([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['010.1.2.3/16', '10.1.0.0/16'],
    ['203.0.113.77/0', '0.0.0.0/0'],
    ['2001:DB8:1:2::3/32', '2001:db8::/32'],
    ['fd00::1/127', 'fd00::/127'],
    ['::/0', '::/0'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['::ffff:10.1.2.3/128', '10.1.2.3/32'],
    ['::ffff:10.1.2.3/96', '0.0.0.0/0'],
    ['::ffff:10.1.2.3/8', '::/8'],
    ['::10.1.2.3/120', '::a01:200/120'],
    ['10.0.0.0/08', '10.0.0.0/8'],
  ] as const)('%s is %s', ([text, canonical]) => {
    expect(canonicalCidr(text)).toBe(canonical);
  });

  test.for([
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/8.0',
    '10.0.0.0/255.0.0.0',
    ' 10.0.0.0/8',
    '10.0.0.0/ 8',
    '10/8',
    '::/129',
    '::ffff:10.0.0.0/129',
    'fe80::%eth0/64',
    '/8',
    '',
  ])('"%s" is no network', (text) => {
    expect(canonicalCidr(text)).toBeUndefined();
  });

  it('holds the address it was made of, and is its own canonical form', () => {
    fc.assert(
      fc.property(nestedCidr, (text) => {
        const cidr = known(canonicalCidr(text));
        expect(canonicalCidr(cidr)).toBe(cidr);
        expect(cidrContains(cidr, known(canonicalIP(text.slice(0, text.indexOf('/')))))).toBe(true);
        expect(prefixLength(cidr)).toBe(Number(text.slice(text.indexOf('/') + 1)));
      }),
    );
  });
});

describe('cidrContains', () => {
  test.for([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['0.0.0.0/0', '203.0.113.1', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '10.0.0.1', false],
    ['fd00::/8', 'fdff::1', true],
    ['fd00::/127', 'fd00::2', false],
  ] as const)('%s holds %s: %s', ([cidr, address, inside]) => {
    expect(cidrContains(cidr, address)).toBe(inside);
  });

  it("agrees with Node's BlockList", () => {
    fc.assert(
      fc.property(nestedCidr, fc.oneof(ipv4, nestedCidr), (text, other) => {
        const cidr = known(canonicalCidr(text));
        const address = known(canonicalIP(other.split('/')[0] ?? ''));
        const list = new BlockList();
        list.addSubnet(cidr.slice(0, cidr.indexOf('/')), prefixLength(cidr), family(cidr));
        const expected = familyOf(cidr) === familyOf(address) && list.check(address, family(address));
        expect(cidrContains(cidr, address)).toBe(expected);
      }),
    );
  });
});

function family(text: string): 'ipv4' | 'ipv6' {
  return familyOf(text) === 'IPv4' ? 'ipv4' : 'ipv6';
}

describe('disjointCidrs', () => {
  it('drops what another one covers, and sorts', () => {
    expect(
      disjointCidrs([
        '10.1.0.0/16',
        '10.0.0.0/8',
        '192.0.2.0/25',
        '10.0.0.0/8',
        '192.0.2.128/25',
        'fd00::/8',
      ]),
    ).toEqual(['10.0.0.0/8', '192.0.2.0/25', '192.0.2.128/25', 'fd00::/8']);
  });

  it('keeps nothing but /0 beside /0, in its family', () => {
    expect(disjointCidrs(['10.0.0.0/8', '0.0.0.0/0', '203.0.113.1/32', 'fd00::/8'])).toEqual([
      '0.0.0.0/0',
      'fd00::/8',
    ]);
  });

  it('agrees with comparing every pair, in any order', () => {
    fc.assert(
      fc.property(
        fc
          .array(nestedCidr, { maxLength: 30 })
          .chain((texts) => fc.tuple(fc.constant(texts), shuffled(texts))),
        ([texts, other]) => {
          const cidrs = [...new Set(texts.map((text) => known(canonicalCidr(text))))];
          const expected = cidrs
            .filter(
              (cidr) =>
                !cidrs.some(
                  (wider) =>
                    wider !== cidr &&
                    prefixLength(wider) <= prefixLength(cidr) &&
                    cidrContains(wider, cidr.slice(0, cidr.indexOf('/'))),
                ),
            )
            .sort(compareText);
          expect(disjointCidrs(cidrs)).toEqual(expected);
          expect(disjointCidrs(other.map((text) => known(canonicalCidr(text))))).toEqual(expected);
        },
      ),
    );
  });
});

function shuffled(texts: readonly string[]): fc.Arbitrary<string[]> {
  return fc.shuffledSubarray([...texts], { minLength: texts.length, maxLength: texts.length });
}

describe('specialAddress', () => {
  test.for([
    ['0.0.0.0', 'unspecified'],
    ['255.255.255.255', 'broadcast'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.20.10', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['229.9.9.9', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['ff02::1', 'multicast'],
    ['ff0e:1::1', 'multicast'],
    ['10.0.0.1', undefined],
    ['22.4.0.1', undefined],
    ['223.255.255.255', undefined],
    ['240.0.0.1', undefined],
    ['169.253.0.1', undefined],
    ['fec0::1', undefined],
    ['fe8::1', undefined],
    ['ff::1', undefined],
    ['fd00::1', undefined],
    ['::2', undefined],
  ] as const)('%s is %s', ([address, special]) => {
    expect(specialAddress(address)).toBe(special);
  });
});

test('compareText orders by code unit', () => {
  expect(['b', 'a', 'B', 'ä', 'a1', 'a'].sort(compareText)).toEqual(['B', 'a', 'a', 'a1', 'b', 'ä']);
});
