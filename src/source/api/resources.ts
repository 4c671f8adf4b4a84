/** What is watched, as kube-proxy does: resources, selectors, and who cuts the objects down. */
import { projectEndpointSlice } from '../../cluster/project/endpointslice.ts';
import { projectNode } from '../../cluster/project/node.ts';
import type { Projection } from '../../cluster/project/project.ts';
import { projectService } from '../../cluster/project/service.ts';
import { projectServiceCidr } from '../../cluster/project/servicecidr.ts';
import type { ClusterValue, ValueKind } from '../../cluster/values.ts';

export interface ApiResource {
  readonly kind: ValueKind;
  /** Plural, as RBAC rules name it: `endpointslices`. */
  readonly name: string;
  /** API group, empty for the core one. */
  readonly group: string;
  /** `/apis/discovery.k8s.io/v1/endpointslices`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /**
   * Older servers do not know this field selector (400); without it they send objects that `project` then leaves
   * out.
   */
  readonly fieldSelectorOptional?: boolean;
  /** The proxy can work without it: a server that does not have it, or keeps it from us, has none. */
  readonly optional?: boolean;
  readonly project: (object: unknown) => Projection<ClusterValue>;
}

/**
 * kube-proxy's informers (`cmd/kube-proxy/app/server.go`).
 * @param nodeName the Node to watch; `undefined` for all of them
 */
export function apiResources(nodeName: string | undefined): readonly ApiResource[] {
  return [
    {
      kind: 'Service',
      name: 'services',
      group: '',
      path: '/api/v1/services',
      labelSelector: '!service.kubernetes.io/service-proxy-name',
      fieldSelector: 'spec.clusterIP!=None',
      fieldSelectorOptional: true,
      project: projectService,
    },
    {
      kind: 'EndpointSlice',
      name: 'endpointslices',
      group: 'discovery.k8s.io',
      path: '/apis/discovery.k8s.io/v1/endpointslices',
      labelSelector: '!service.kubernetes.io/headless',
      project: projectEndpointSlice,
    },
    {
      kind: 'Node',
      name: 'nodes',
      group: '',
      path: '/api/v1/nodes',
      ...(nodeName === undefined ? {} : { fieldSelector: `metadata.name=${nodeName}` }),
      project: projectNode,
    },
    {
      kind: 'ServiceCIDR',
      name: 'servicecidrs',
      group: 'networking.k8s.io',
      path: '/apis/networking.k8s.io/v1/servicecidrs',
      optional: true,
      project: projectServiceCidr,
    },
  ];
}
