/**
 * Names of objects in the table `kube-proxy`. Those of per-Service objects are kube-proxy's own, hash and all,
 * so that affinity survives a change from one to the other and people's tooling finds them.
 */
import type { PlanEndpoint, ServicePlan } from '../../src/plan/plan.ts';
import { shortHash } from '../shared/short-hash.ts';

export const TABLE = 'kube-proxy';

/** nft takes names up to 256 characters; kube-proxy cuts its own at 240. */
const MAX_NAME = 240;

/** Manifests are not validated as the API server does: nothing but these ever gets into a script unquoted. */
function safe(text: string): string {
  return text.replace(/[^A-Za-z0-9./_-]/g, '_');
}

/** `8 hash characters-base`, cut with `...` where the kernel would not take it. */
export function hashedName(base: string): string {
  const name = `${shortHash(base, 8)}-${safe(base)}`;
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 3)}...` : name;
}

/** `ULMVA6XW-ns1/svc1/tcp/p80` */
export function serviceBase(plan: ServicePlan): string {
  return hashedName(servicePath(plan));
}

/** `5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80`, colons of an IPv6 address as dots. */
export function endpointBase(plan: ServicePlan, endpoint: PlanEndpoint): string {
  return hashedName(`${servicePath(plan)}__${endpoint.address.replaceAll(':', '.')}/${endpoint.port}`);
}

function servicePath(plan: ServicePlan): string {
  return `${plan.namespace}/${plan.name}/${plan.protocol.toLowerCase()}/${plan.portName}`;
}

/** The kernel keeps at most 128 bytes of a comment, its end mark included. */
const MAX_COMMENT_BYTES = 127;

/** A comment as nft takes it between quotes: clipped by bytes, harmless in every other way. */
export function commentText(text: string): string {
  return text.replace(/[^A-Za-z0-9 .,:;/_@()+=*-]/g, '_').slice(0, MAX_COMMENT_BYTES);
}
