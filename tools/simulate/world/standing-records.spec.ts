import { baseName } from '@certwright/dns-names';
import { describeApprover } from '../../../apps/issuance-worker/src/approvals/testing/approver-suite';
import { StandingRecords } from './standing-records';

describeApprover({
  name: 'the simulated DNS record',
  setUp: async () => {
    const records = new StandingRecords();
    return await Promise.resolve({
      approver: records.approver(),
      question: async (_, dnsName) => {
        records.vanish([dnsName]);
        const wanted = { accountId: '1', planId: '1', dnsName, delegationLabel: 'label', now: new Date() };
        return await Promise.resolve({ ...wanted, parent: null, record: null, approverEmail: null });
      },
      approve: async ({ dnsName }) => await Promise.resolve(records.restoreAll(baseName(dnsName))),
      withdraw: async ({ dnsName }) => await Promise.resolve(records.vanish([dnsName])),
    });
  },
  cannot: {
    tenants: 'every account has a record',
    effects: 'it only looks',
    outside: 'it has none',
    database: 'it needs none',
    age: 'a record is there or not',
  },
});
