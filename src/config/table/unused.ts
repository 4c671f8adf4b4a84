/** What kube-proxy's command lines and files may hold and this program has no use for. */
import * as fields from '../fields.ts';
import { option } from '../option.ts';

const WINDOWS = 'for Windows; this program is for Linux';
const LEAKED = 'no part of kube-proxy reads it either';

function windowsText(field: string, text: string) {
  return option(fields.text(), '', { field, group: 'Without effect', text, differs: WINDOWS });
}

function windowsSwitch(field: string, text: string) {
  return option(fields.bool(), 'false', { field, group: 'Without effect', text, differs: WINDOWS });
}

export const unusedOptions = {
  bootIdFile: option(fields.text(), '', {
    flag: 'boot-id-file',
    value: '<path,...>',
    group: 'Without effect',
    text: 'files that may hold the id of this boot',
    differs: LEAKED,
  }),
  machineIdFile: option(fields.text(), '', {
    flag: 'machine-id-file',
    value: '<path,...>',
    group: 'Without effect',
    text: 'files that may hold the id of this machine',
    differs: LEAKED,
  }),
  portRange: option(fields.text(), '', {
    field: 'portRange',
    group: 'Without effect',
    text: 'ports that the userspace mode of old used',
    differs: 'there is no userspace mode',
  }),
  windowsRunAsService: windowsSwitch('windowsRunAsService', 'run as a Windows service'),
  winkernelNetworkName: windowsText('winkernel.networkName', 'HNS network to use'),
  winkernelSourceVip: windowsText('winkernel.sourceVip', 'source address of load-balanced traffic'),
  winkernelEnableDsr: windowsSwitch('winkernel.enableDSR', 'direct server return'),
  winkernelRootHnsEndpointName: windowsText('winkernel.rootHnsEndpointName', 'endpoint of the root network'),
  winkernelForwardHealthCheckVip: windowsSwitch(
    'winkernel.forwardHealthCheckVip',
    'forward the service VIP of health check ports',
  ),
};
