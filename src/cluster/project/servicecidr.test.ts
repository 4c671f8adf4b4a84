import { describe, expect, it } from 'vitest';
import { projectServiceCidr } from './servicecidr.ts';

describe('projectServiceCidr', () => {
  it('keeps the networks in canonical form, and names what is none', () => {
    const object = {
      metadata: { name: 'kubernetes' },
      spec: { cidrs: ['10.96.0.1/12', 'FD00:10:96::/112', '10.96.0.0/12', '10.0.0.0/40'] },
    };
    expect(projectServiceCidr(object)).toEqual({
      value: { kind: 'ServiceCIDR', name: 'kubernetes', cidrs: ['10.96.0.0/12', 'fd00:10:96::/112'] },
      problems: [
        {
          object: 'ServiceCIDR kubernetes',
          field: 'spec.cidrs[3]',
          message: '"10.0.0.0/40" is not a CIDR; ignored',
        },
      ],
    });
  });

  it('may have none', () => {
    expect(projectServiceCidr({ metadata: { name: 'a' } })).toEqual({
      value: { kind: 'ServiceCIDR', name: 'a', cidrs: [] },
      problems: [],
    });
  });

  it('needs a name', () => {
    expect(projectServiceCidr({}).value).toBeUndefined();
  });
});
