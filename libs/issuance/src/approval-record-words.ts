import type { ApprovalRecord } from './approval-record';

/** What a caller is told of a record, in one word. */
export type RecordStanding = 'waiting' | 'standing' | 'failing';

type Told = Pick<
  ApprovalRecord,
  'state' | 'addedAt' | 'stoppedAt' | 'failures' | 'problem' | 'integrationId'
>;

export function recordStanding({
  state,
  failures,
  stoppedAt,
}: Pick<ApprovalRecord, 'state' | 'failures'> & {
  readonly stoppedAt: Date | string | null;
}): RecordStanding {
  if (state === 'standing') return 'standing';
  return failures > 0 || stoppedAt !== null ? 'failing' : 'waiting';
}

/** What a name waits for whose record does not stand yet, as a sentence for the caller. */
export function waitingForRecord(record: Told): string {
  const { state, addedAt, stoppedAt, failures, problem, integrationId } = record;
  const integration = `the integration ${integrationId}`;
  const told = problem === null ? '' : ` ${problem}`;
  if (state === 'unwanted') {
    return `the record of an earlier order is being removed through ${integration}, and is added again after that.${told}`;
  }
  if (stoppedAt !== null) return `the record was added through ${integration}.${told}`;
  if (failures > 0) return `the record could not be added through ${integration} yet.${told}`;
  if (addedAt === null) return `the record is being added through ${integration}.${told}`;
  return problem === null
    ? `the record was added through ${integration}; the servers of its zone are asked for it.`
    : `the record was added through ${integration}; ${problem}`;
}
