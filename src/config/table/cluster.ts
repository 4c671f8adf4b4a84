/** Options about where objects come from. */
import { featureGatesField } from '../feature-gates.ts';
import * as fields from '../fields.ts';
import { option } from '../option.ts';

const JSON_ONLY = 'this program speaks JSON with the API server';
const NO_LIMIT = 'a handful of lists and watches need no limit; failures are backed off from';

export const clusterOptions = {
  kubeconfig: option(fields.text(), '', {
    flag: 'kubeconfig',
    value: '<path>',
    field: 'clientConnection.kubeconfig',
    group: 'Cluster',
    text: "kubeconfig file for the API server; without it and --master, the pod's own service account",
  }),
  master: option(fields.text(), '', {
    flag: 'master',
    value: '<url>',
    group: 'Cluster',
    besideFile: true,
    text: 'address of the API server; wins over the one in the kubeconfig',
  }),
  manifests: option(fields.text(), '', {
    flag: 'manifests',
    value: '<path>',
    group: 'Cluster',
    own: true,
    text: 'take objects from this YAML or JSON file or directory, or - for standard input, instead of an API server',
  }),
  featureGates: option(featureGatesField(), '', {
    flag: 'feature-gates',
    value: '<gate=bool,...>',
    repeatable: true,
    field: 'featureGates',
    group: 'Cluster',
    text: 'feature gates to switch on or off',
    differs:
      'the gates of Service proxies are known, see below. Another name is an error in the flag; in a file it is told and left out, because kind writes the gates of the whole cluster there',
  }),
  acceptContentTypes: option(fields.text(), '', {
    field: 'clientConnection.acceptContentTypes',
    group: 'Without effect',
    text: 'content types to accept from the API server',
    differs: JSON_ONLY,
  }),
  kubeApiContentType: option(fields.text(), 'application/vnd.kubernetes.protobuf', {
    flag: 'kube-api-content-type',
    value: '<type>',
    field: 'clientConnection.contentType',
    group: 'Without effect',
    text: 'content type of requests to the API server',
    differs: JSON_ONLY,
  }),
  kubeApiQps: option(fields.decimal(), '5', {
    flag: 'kube-api-qps',
    value: '<number>',
    field: 'clientConnection.qps',
    group: 'Without effect',
    text: 'requests a second to the API server',
    differs: NO_LIMIT,
  }),
  kubeApiBurst: option(fields.integer(0, fields.INT32_MAX), '10', {
    flag: 'kube-api-burst',
    value: '<number>',
    field: 'clientConnection.burst',
    group: 'Without effect',
    text: 'requests to the API server in a burst',
    differs: NO_LIMIT,
  }),
  configSyncPeriod: option(fields.duration('positive'), '15m', {
    flag: 'config-sync-period',
    value: '<duration>',
    field: 'configSyncPeriod',
    group: 'Without effect',
    text: 'how often everything that was listed is handed on again',
    differs: 'a watch that breaks off is resumed without loss, so there is nothing to hand on again',
  }),
};
