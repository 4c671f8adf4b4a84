import { expect, test } from 'vitest';
import { textWithoutUserinfo, urlWithoutUserinfo } from './userinfo.ts';

test.for<[string, string]>([
  ['', ''],
  ['https://192.0.2.1:6443', 'https://192.0.2.1:6443'],
  ['https://me:pass@192.0.2.1:6443/path', 'https://192.0.2.1:6443/path'],
  ['http://me@host', 'http://host'],
  ['http://me:p@ss@host/a@b', 'http://host/a@b'],
  ['me:pass@host:80', 'host:80'],
  ['https://host/a@b', 'https://host/a@b'],
  ['https://host?user=a@b', 'https://host?user=a@b'],
  ['http://me:pa/ss@host', 'http://<hidden>'],
  ['http://me:pass@ho st', 'http://<hidden>'],
  ['http://me:pass@', 'http://<hidden>'],
  ['me:pa ss@ho st', '<hidden>'],
])('%o is shown as %o', ([url, shown]) => {
  expect(urlWithoutUserinfo(url)).toBe(shown);
});

test.for<[string, string]>([
  ['nothing of the kind, me@example.org', 'nothing of the kind, me@example.org'],
  ["unknown option '--mastr=http://me:pa/s@s@host'", "unknown option '--mastr=http://host'"],
  ['"http://a:b@c" and "https://d:e@f"', '"http://c" and "https://f"'],
])('%o: only %o goes on', ([text, shown]) => {
  expect(textWithoutUserinfo(text)).toBe(shown);
});
