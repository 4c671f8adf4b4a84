import { describe, expect, it } from 'vitest';
import { addRound, classify, difference, type Expectation, NOTHING_OBSERVED } from './expectation.ts';
import type { Outcome } from './protocol.ts';

const two: Expectation = {
  backends: ['10.244.1.2:8080', '10.244.2.2:8080'],
  clientSeen: ['client'],
  failures: [],
};

const answered = (backend: string, client = '10.244.1.100'): Outcome => ({ ok: true, backend, client });
const failed = (failure: string): Outcome => ({ ok: false, failure });
const classOf = (client: string) => classify(client, ['10.244.1.100'], ['172.30.0.11']);
const observe = (...outcomes: Outcome[]) => addRound(NOTHING_OBSERVED, outcomes, classOf);

describe('difference', () => {
  it('is none when every back end answered and saw the right sender', () => {
    expect(
      difference(two, observe(answered('10.244.1.2:8080'), answered('10.244.2.2:8080'))),
    ).toBeUndefined();
  });

  it('names a back end that should not have answered, which no further round mends', () => {
    const observed = observe(
      ...['10.244.1.2:8080', '10.244.2.2:8080', '10.244.1.9:8080'].map((b) => answered(b)),
    );
    expect(difference(two, observed)).toEqual({ what: ['10.244.1.9:8080 answered'], mayPass: false });
  });

  it('names a back end that is missing, which a further round may bring', () => {
    expect(difference(two, observe(answered('10.244.1.2:8080')))).toEqual({
      what: ['10.244.2.2:8080 never answered'],
      mayPass: true,
    });
  });

  it('tells a masqueraded sender from one that was not, and a strange address from both', () => {
    const observed = observe(
      answered('10.244.1.2:8080'),
      answered('10.244.2.2:8080', '172.30.0.11'),
      answered('10.244.2.2:8080', '203.0.113.9'),
    );
    expect(difference(two, observed)).toEqual({
      what: ["a back end saw the node's address", 'a back end saw 203.0.113.9'],
      mayPass: false,
    });
  });

  it('takes a timeout for lateness, a refusal for wrong', () => {
    const answers = [answered('10.244.1.2:8080'), answered('10.244.2.2:8080')];
    expect(difference(two, observe(...answers, failed('timeout')))).toEqual({
      what: ['1 tries met timeout'],
      mayPass: true,
    });
    expect(difference(two, observe(...answers, failed('refused')))).toEqual({
      what: ['1 tries met refused'],
      mayPass: false,
    });
  });

  it('counts back ends where any will do', () => {
    const sticky: Expectation = {
      backends: { oneOf: true, count: 1 },
      clientSeen: ['client'],
      failures: [],
    };
    expect(
      difference(sticky, observe(answered('10.244.1.3:8080'), answered('10.244.1.3:8080'))),
    ).toBeUndefined();
    expect(difference(sticky, observe(answered('10.244.1.3:8080'), answered('10.244.2.3:8080')))).toEqual({
      what: ['2 back ends answered (10.244.1.3:8080, 10.244.2.3:8080), not 1'],
      mayPass: false,
    });
  });

  it('does not take a refusal for a drop', () => {
    const dropped: Expectation = { backends: [], clientSeen: [], failures: ['timeout'] };
    expect(difference(dropped, observe(failed('timeout')))).toBeUndefined();
    expect(difference(dropped, observe(failed('refused')))).toEqual({
      what: ['1 tries met refused', 'no try met timeout'],
      mayPass: false,
    });
  });
});

describe('addRound', () => {
  it('adds up who answered, and keeps the failures of the last round alone', () => {
    const first = observe(answered('10.244.1.2:8080'), failed('timeout'));
    expect(addRound(first, [answered('10.244.1.2:8080'), answered('10.244.2.2:8080')], classOf)).toEqual({
      backends: { '10.244.1.2:8080': 2, '10.244.2.2:8080': 1 },
      clientSeen: { client: 3 },
      failures: {},
    });
  });
});
