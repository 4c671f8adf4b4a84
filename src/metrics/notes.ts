/**
 * What there is to say about metrics beyond their registration: how kube-proxy's are beside kube-proxy 1.36, and what
 * ours are for. The tables of docs/metrics.md are made of this and of the registrations themselves (docs.ts).
 */

const COUNTED_ONCE =
  "each change counts once, where kube-proxy's two proxiers both count it (Q13), and what a relist brings does not";
const FULL =
  'a change to one Service is a partial sync; a full one is the first, the hourly one, those after a failure or a repair, and those for a change of the Node';
const ATTEMPTS =
  'attempts count: one that was refused for a bad Service too, also when the others were written right after';
const PACKETS = 'read by the tool `nfacct`, at most every 5 s; without it there is no such metric';
const MORE_FLOWS = 'more is stale here, and the work is off the path of syncs: [conntrack](conntrack.md)';
const READINESS = 'the checks of `/readyz` are counted too';

/** Metrics of kube-proxy's that are there and not quite the same: how, and why. */
export const DIFFERENT: Readonly<Record<string, string>> = {
  kubeproxy_network_programming_duration_seconds:
    'one observation for each Service in a sync, of the oldest of its endpoint changes, where kube-proxy has one for each change',
  kubeproxy_sync_proxy_rules_service_changes_total: COUNTED_ONCE,
  kubeproxy_sync_proxy_rules_service_changes_pending: COUNTED_ONCE,
  kubeproxy_sync_proxy_rules_endpoint_changes_total: COUNTED_ONCE,
  kubeproxy_sync_proxy_rules_endpoint_changes_pending: COUNTED_ONCE,
  kubeproxy_sync_full_proxy_rules_duration_seconds: FULL,
  kubeproxy_sync_partial_proxy_rules_duration_seconds: FULL,
  kubeproxy_sync_proxy_rules_iptables_restore_failures_total: ATTEMPTS,
  kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total: ATTEMPTS,
  kubeproxy_sync_proxy_rules_nftables_sync_failures_total: ATTEMPTS,
  kubeproxy_iptables_ct_state_invalid_dropped_packets_total: PACKETS,
  kubeproxy_iptables_localhost_nodeports_accepted_packets_total: PACKETS,
  kubeproxy_conntrack_reconciler_sync_duration_seconds: MORE_FLOWS,
  kubeproxy_conntrack_reconciler_deleted_entries_total: MORE_FLOWS,
  kubernetes_build_info: "this program's own version, and that of Node.js in place of Go's",
  kubernetes_feature_enabled: 'the gates of Service proxies, not those of all of Kubernetes',
  kubernetes_healthcheck: READINESS,
  kubernetes_healthchecks_total: READINESS,
};

const BODIES = 'sizes of lists and watches, whose bodies are read piece by piece and never held as a whole';
const COMPONENT_BASE = "about component-base's own registry; nothing here is disabled or hidden";

/** Metrics of kube-proxy's that are not there: why. With a star for all whose names begin so. */
export const NOT_HERE: Readonly<Record<string, string>> = {
  'go_*':
    "about Go's runtime; `kube_rulesync_memory_bytes` and `kube_rulesync_event_loop_lag_seconds` are Node.js'",
  'promhttp_*': "about Go's handler of `/metrics`",
  registered_metrics_total: COMPONENT_BASE,
  disabled_metrics_total: COMPONENT_BASE,
  hidden_metrics_total: COMPONENT_BASE,
  rest_client_rate_limiter_duration_seconds:
    'there is no rate limiter on this side: a handful of lists and watches need none',
  rest_client_request_size_bytes: 'requests have no body but for Events, which are at most some kilobytes',
  rest_client_response_size_bytes: BODIES,
  rest_client_request_retries_total:
    'no request is repeated as it is; `kube_rulesync_relists_total` and `kube_rulesync_watch_restarts_total` tell what is done again, and why',
  'rest_client_transport_*': "about client-go's cache of connections, which there is not",
};

/** Metrics of our own: the question each answers that kube-proxy's cannot. */
export const OWN: Readonly<Record<string, string>> = {
  kube_rulesync_change_latency_seconds:
    "How long from a change reaching this program to its rules being in force? By this node's clock alone, so it says how fast *this program* is; network programming says how fast the cluster is",
  kube_rulesync_sync_phase_duration_seconds:
    'Where does the time of a sync go: `plan`, `diff`, or `apply`, which is the tools and the kernel?',
  kube_rulesync_sync_failures_total: 'Do syncs fail, in whatever mode?',
  kube_rulesync_services_set_aside: 'Are there Services that no tool takes? The log and an Event name them',
  kube_rulesync_drift_repairs_total: 'Does somebody else change our rules?',
  kube_rulesync_relists_total: 'Is everything fetched again and again, and why? `first` is the start',
  kube_rulesync_watch_restarts_total:
    'Do watches break? `ended` is the server ending one, as it does every few minutes',
  kube_rulesync_source_last_heard_timestamp_seconds: 'Is the API server silent?',
  kube_rulesync_event_loop_lag_seconds: 'Does anything hold up the process?',
  kube_rulesync_memory_bytes:
    'What of the memory is heap (`heap_total`, `heap_used`), what buffers (`external`)?',
};
