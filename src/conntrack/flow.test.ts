import { describe, expect, it } from 'vitest';
import { parseFlow, splitSocketKey } from './flow.ts';

describe('parseFlow', () => {
  it.for([
    {
      what: 'a translated flow',
      line: 'ipv4     2 udp      17 599 src=10.1.0.4 dst=10.96.0.10 sport=1027 dport=53 src=10.244.1.5 dst=10.1.0.4 sport=8053 dport=1027 mark=0 use=1',
      flow: { destination: '10.96.0.10 53', answeredBy: '10.244.1.5 8053' },
    },
    {
      what: 'one with counters and an age, its source port changed as well',
      line: 'ipv4     2 udp      17 29 src=127.0.0.1 dst=127.0.0.9 sport=40000 dport=53 packets=1 bytes=29 src=127.0.0.1 dst=127.0.0.1 sport=5353 dport=21727 packets=1 bytes=29 mark=0 delta-time=0 use=1',
      flow: { destination: '127.0.0.9 53', answeredBy: '127.0.0.1 5353' },
    },
    {
      what: 'one that nobody has answered, in a zone for one direction',
      line: 'ipv4     2 udp      17 599 src=10.1.1.1 dst=10.96.0.11 sport=40001 dport=53 zone-orig=7 [UNREPLIED] src=10.96.0.11 dst=10.1.1.1 sport=53 dport=40001 mark=0 use=1',
      flow: { destination: '10.96.0.11 53', answeredBy: '10.96.0.11 53' },
    },
    {
      what: 'a translated IPv6 flow',
      line: 'ipv6     10 udp      17 599 src=fd00::1 dst=fd00:10:96::10 sport=40000 dport=53 src=fd00:244:1::2 dst=fd00::1 sport=8053 dport=40000 mark=0 use=1',
      flow: { destination: 'fd00:10:96::10 53', answeredBy: 'fd00:244:1::2 8053' },
    },
    {
      what: 'an unanswered IPv6 flow in a zone',
      line: 'ipv6     10 udp      17 599 src=fd00::1 dst=fd00:10:96::11 sport=40001 dport=53 [UNREPLIED] src=fd00:10:96::11 dst=fd00::1 sport=53 dport=40001 mark=0 zone=7 use=1',
      flow: { destination: 'fd00:10:96::11 53', answeredBy: 'fd00:10:96::11 53' },
    },
    {
      what: 'an assured flow',
      line: 'ipv4     2 udp      17 119 src=10.244.1.100 dst=172.30.0.11 sport=40000 dport=30053 src=10.244.2.2 dst=172.30.0.11 sport=8053 dport=40000 [ASSURED] mark=0 use=2',
      flow: { destination: '172.30.0.11 30053', answeredBy: '10.244.2.2 8053' },
    },
  ])('reads $what', ({ line, flow }) => {
    expect(parseFlow(line)).toEqual(flow);
  });

  it.for([
    'ipv4     2 tcp      6 431999 ESTABLISHED src=10.1.0.4 dst=10.96.0.10 sport=1027 dport=53 src=10.244.1.5 dst=10.1.0.4 sport=8053 dport=1027 [ASSURED] mark=0 use=1',
    'ipv4     2 icmp     1 29 src=10.1.0.4 dst=10.96.0.10 type=8 code=0 id=1 src=10.96.0.10 dst=10.1.0.4 type=0 code=0 id=1 mark=0 use=1',
    'ipv4     2 udp      17 599 src=10.1.0.4 dst=10.96.0.10 sport=1027 dport=53',
    'conntrack v1.4.7 (conntrack-tools): 5 flow entries have been shown.',
    '',
  ])('passes over %j', (line) => {
    expect(parseFlow(line)).toBeUndefined();
  });
});

it('takes the key of a socket apart', () => {
  expect(splitSocketKey('fd00:10:96::a 53')).toEqual({ address: 'fd00:10:96::a', port: '53' });
});
