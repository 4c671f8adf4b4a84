import { describe, expect, it } from 'vitest';
import { bar, columns } from '../../demo/report.ts';

describe('columns', () => {
  it('aligns cells and leaves nothing at the ends of lines', () => {
    expect(
      columns([
        ['FROM', 'TO'],
        ['client1', '10.96.0.10:80'],
        ['ext', '-'],
      ]),
    ).toEqual(['  FROM     TO', '  client1  10.96.0.10:80', '  ext      -']);
  });
});

describe('bar', () => {
  it('is as long as its part of the whole', () => {
    expect([bar(5, 10, 8), bar(10, 10, 8), bar(0, 10, 8), bar(0, 0, 8)]).toEqual([
      '████',
      '████████',
      '',
      '',
    ]);
  });
});
