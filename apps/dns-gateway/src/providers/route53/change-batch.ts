import type { RecordType } from '@certwright/gateway-contract';
import { absolute } from '../records/names';
import type { RrsetChange } from '../records/rrset-changes';
import { escapedXml } from './xml';

/** TTL of RRsets that we create, seconds; short, because added records are read immediately. */
const usualTtlS = 60;

/** Deletes the RRsets exactly as read and creates the wanted ones, atomically. */
export function changeBatch(fqdn: string, changes: readonly RrsetChange[]): string {
  const deletions = changes.flatMap(({ type, before }) =>
    before === null ? [] : [change('DELETE', fqdn, type, before.ttlS, before.values)],
  );
  const creations = changes.flatMap(({ type, after }) =>
    after === null ? [] : [change('CREATE', fqdn, type, after.ttlS, after.values)],
  );
  const all = [...deletions, ...creations].join('');
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/">' +
    `<ChangeBatch><Changes>${all}</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`
  );
}

function change(
  action: 'DELETE' | 'CREATE',
  fqdn: string,
  type: RecordType,
  ttlS: number | null,
  values: readonly string[],
): string {
  const records = values.map(
    (value) => `<ResourceRecord><Value>${escapedXml(value)}</Value></ResourceRecord>`,
  );
  return (
    `<Change><Action>${action}</Action><ResourceRecordSet>` +
    `<Name>${escapedXml(absolute(fqdn))}</Name><Type>${type}</Type><TTL>${ttlS ?? usualTtlS}</TTL>` +
    `<ResourceRecords>${records.join('')}</ResourceRecords></ResourceRecordSet></Change>`
  );
}
