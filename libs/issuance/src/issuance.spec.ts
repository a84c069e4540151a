import { mayBeApprovedBy } from './issuance';
import type { ApprovalMethod } from './product';

const methods: readonly ApprovalMethod[] = ['dns', 'http', 'email'];
const way = (method: ApprovalMethod) => ({ method, approverEmail: null, recordAt: null });
const counting = (said: Parameters<typeof mayBeApprovedBy>[0]) =>
  methods.filter((method) => mayBeApprovedBy(said, method));

describe('mayBeApprovedBy', () => {
  it('accepts every method when no method is required', () => {
    expect(counting({})).toEqual(methods);
    expect(counting({ way: null })).toEqual(methods);
  });

  it.each(methods)('accepts only %s when it is required', (method) => {
    expect(counting({ way: way(method) })).toEqual([method]);
  });
});
