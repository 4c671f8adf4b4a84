/**
 * Scripts and whether they can be applied, as nft 1.0.6 on kernel 6.18 answered. `ruleset.test.ts` holds the model
 * against them, `test/packets/nft-syntax.test.ts` nft itself.
 */
import type { RefusalReason } from './refusal.ts';

/** Applied before each case. */
export const SETUP = `add table ip t
add chain ip t a
add chain ip t b
add chain ip t entry { type filter hook input priority 0 ; }
add set ip t s { type ipv4_addr ; }
add map ip t v { type ipv4_addr : verdict ; }
add map ip t d { type ipv4_addr : ipv4_addr ; }
add map ip t dp { type ipv4_addr : ipv4_addr . inet_service ; }
add rule ip t a goto b
add rule ip t a ip daddr @s drop
add rule ip t a ip daddr vmap @v
add element ip t s { 1.1.1.1 }
add element ip t v { 1.1.1.1 : goto b }
add element ip t d { 1.1.1.1 : 2.2.2.2 }
`;

export type Case = readonly [outcome: 'applied' | RefusalReason, script: string];

export const CASES: readonly Case[] = [
  // Tables
  ['applied', 'add table ip t'],
  ['applied', 'add table ip t { comment "again" ; }'],
  ['exists', 'create table ip t'],
  ['applied', 'add table other\ndelete table ip other'],
  ['missing', 'delete table ip zz'],
  ['missing', 'add chain ip zz a'],
  ['applied', 'delete table ip t'],
  ['missing', 'delete table ip t\nadd table ip t\nadd rule ip t a drop'],
  ['applied', 'flush table ip t\ndelete set ip t s'],
  ['applied', 'flush ruleset\nadd table ip t'],
  [
    'applied',
    'table ip t {\nchain u {\njump w\n}\nchain w {\n}\nmap x {\ntype ipv4_addr : verdict\nelements = { 1.1.1.1 : goto u }\n}\n}',
  ],

  // Chains
  ['applied', 'add chain ip t a'],
  ['exists', 'create chain ip t a'],
  ['exists', 'add chain ip t a { type filter hook output priority 0 ; }'],
  ['unsupported', 'add chain ip t entry { type filter hook input priority 5 ; }'],
  ['applied', 'add chain ip t entry { type filter hook input priority 0 ; policy drop ; }'],
  ['applied', 'add chain ip t entry'],
  ['unsupported', 'add chain ip t n { type nat hook forward priority 0 ; }'],
  ['unsupported', 'add chain ip t n { type nat hook prerouting priority -200 ; }'],
  ['busy', 'delete chain ip t b'],
  ['busy', 'flush chain ip t a\ndelete chain ip t b'],
  ['applied', 'flush chain ip t a\nflush map ip t v\ndelete chain ip t b'],
  ['applied', 'flush chain ip t a\ndelete element ip t v { 1.1.1.1 }\ndelete chain ip t b'],
  ['busy', 'delete element ip t v { 1.1.1.1 }\ndelete chain ip t b\nflush chain ip t a'],
  ['applied', 'delete chain ip t a'],
  ['applied', 'add rule ip t entry drop\ndelete chain ip t entry'],
  ['applied', 'delete chain ip t a\nadd chain ip t a\nadd rule ip t a drop'],
  ['missing', 'delete chain ip t zz'],
  ['missing', 'flush chain ip t zz'],

  // Sets and maps
  ['applied', 'add set ip t s { type ipv4_addr ; }'],
  ['applied', 'add set ip t s { type ipv4_addr ; comment "again" ; size 5 ; }'],
  ['exists', 'add set ip t s { type inet_service ; }'],
  ['exists', 'add set ip t s { type ipv4_addr ; flags interval ; }'],
  ['exists', 'add set ip t s { type ipv4_addr ; timeout 5m ; }'],
  ['exists', 'add map ip t s { type ipv4_addr : verdict ; }'],
  ['exists', 'add map ip t d { type ipv4_addr : inet_service ; }'],
  ['exists', 'create set ip t s { type ipv4_addr ; }'],
  ['busy', 'delete set ip t s'],
  ['busy', 'delete map ip t v'],
  ['applied', 'delete map ip t d\nadd map ip t d { type ipv4_addr : inet_service ; }'],
  ['applied', 'flush chain ip t a\ndelete set ip t s\ndelete map ip t v'],
  ['missing', 'delete set ip t zz'],
  ['missing', 'flush set ip t v'],
  ['missing', 'flush map ip t s'],

  // Elements
  ['applied', 'add element ip t s { 1.1.1.1, 1.1.1.2,\n 1.1.1.3 comment "x" }'],
  ['exists', 'create element ip t s { 1.1.1.1 }'],
  ['applied', 'add element ip t v { 1.1.1.1 : goto b }'],
  ['exists', 'add element ip t v { 1.1.1.1 : goto a }'],
  ['exists', 'add element ip t d { 1.1.1.1 : 3.3.3.3 }'],
  ['exists', 'add element ip t d { 1.1.1.5 : 2.2.2.2, 1.1.1.5 : 3.3.3.3 }'],
  ['applied', 'delete element ip t d { 1.1.1.1 }\nadd element ip t d { 1.1.1.1 : 3.3.3.3 }'],
  ['applied', 'delete element ip t d { 1.1.1.1 : 9.9.9.9 }'],
  ['missing', 'delete element ip t s { 1.1.1.1, 1.1.1.9 }'],
  ['missing', 'add element ip t zz { 1.1.1.1 }'],
  ['missing', 'add element ip t v { 1.1.1.2 : goto zz }'],
  ['unsupported', 'add element ip t v { 1.1.1.2 : goto entry }'],
  ['mismatch', 'add element ip t v { 1.1.1.2 }'],
  ['mismatch', 'add element ip t s { 1.1.1.2 : drop }'],
  ['mismatch', 'add element ip t v { 1.1.1.2 : 2.2.2.2 }'],
  ['mismatch', 'add element ip t d { 1.1.1.2 : drop }'],
  ['mismatch', 'add element ip t dp { 1.1.1.2 : 2.2.2.2 }'],
  ['mismatch', 'add element ip t s { 1.1.1.2 . 80 }'],
  ['mismatch', 'add element ip t s { 1.1.1.0/24 }'],
  ['mismatch', 'add element ip t s { 1.1.1.2 timeout 5m }'],
  ['full', 'add set ip t one { type ipv4_addr ; size 1 ; }\nadd element ip t one { 1.1.1.1, 1.1.1.2 }'],
  [
    'applied',
    'add set ip t nets { type ipv4_addr ; flags interval ; }\nadd element ip t nets { 10.0.0.0/8, 11.0.0.0-11.0.0.9 }',
  ],
  [
    'applied',
    'add map ip t e { typeof ip daddr . meta l4proto . th dport . numgen random mod 65536 : ip daddr . th dport ; }\n' +
      'add element ip t e { 10.0.0.1 . tcp . 80 . 0 comment "x:y" : 10.1.1.1 . 8080, 10.0.0.1 . 17 . 0x35 . 1 : 10.1.1.2 . 53 }',
  ],

  // Rules
  ['missing', 'add rule ip t zz drop'],
  ['missing', 'add rule ip t a goto zz'],
  ['missing', 'add rule ip t b ip daddr @zz drop'],
  ['missing', 'add rule ip t b numgen random mod 2 vmap { 0 : goto a, 1 : goto zz }'],
  ['missing', 'delete rule ip t a handle 99'],
  ['unsupported', 'add rule ip t b jump entry'],
  ['mismatch', 'add rule ip t b tcp dport @s drop'],
  ['mismatch', 'add rule ip t b ip daddr . meta l4proto @s drop'],
  ['mismatch', 'add rule ip t b ip daddr vmap @s'],
  ['mismatch', 'add rule ip t b ip daddr vmap @d'],
  ['mismatch', 'add rule ip t b dnat to ip daddr map @v'],
  ['mismatch', 'add rule ip t b dnat to 1.2.3.4:80'],
  ['mismatch', 'add rule ip t b dnat ip addr . port to ip daddr map @dp'],
  ['mismatch', 'add rule ip t b meta l4proto != tcp dnat ip addr . port to ip daddr map @dp'],
  ['applied', 'add rule ip t b meta l4proto { tcp, udp } dnat ip addr . port to ip daddr map @dp'],
  ['applied', 'add rule ip t b dnat to ip daddr map @d'],
  ['applied', 'add rule ip t a accept; insert rule ip t a return; add rule ip t a drop'],
  ['applied', 'add rule ip t a index 0 accept\ninsert rule ip t a index 0 return'],
  ['missing', 'add rule ip t b index 0 accept'],

  // Where chains are reached from
  ['applied', 'add rule ip t b goto a'],
  ['loop', 'add rule ip t entry jump a\nadd rule ip t b goto a'],
  ['loop', 'add rule ip t b ip daddr vmap @v\nadd rule ip t entry jump b'],
  ['unsupported', 'add rule ip t entry dnat to 1.2.3.4'],
  ['unsupported', 'add rule ip t b masquerade\nadd rule ip t entry jump a'],
  [
    'applied',
    'add chain ip t n { type nat hook output priority 0 ; }\nadd rule ip t b dnat to 1.2.3.4\nadd rule ip t n jump a',
  ],
];
