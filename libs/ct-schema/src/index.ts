export { BinaryRows } from './copy/binary-rows';
export { binaryArray } from './copy/binary-values';
export { copyIn } from './copy/copy-in';
export { citusIsThere, citusOnce } from './distribution/citus';
export { distribute, planDistribution } from './distribution/distribute';
export { ctDataSource, usedCtSchema } from './ct-data-source';
export { type CtProcess, CtSchemaModule } from './ct-schema.module';
export { CtLogEvidenceEntity, type EvidenceKind } from './logs/ct-log-evidence.entity';
export { CtLogEntity, type CtLogKind } from './logs/ct-log.entity';
export { type LogReport, leftOver, logReports } from './logs/log-reports';
export { CtPostings1795651300000 } from './migrations/1795651300000-ct-postings';
export {
  type Home,
  type Run,
  blockTable,
  filtersAreThere,
  insertBlocks,
  insertRun,
  isUndefinedTable,
  nextRunId,
  young,
} from './runs/run-tables';
export { ctSchema } from './roles/ct-schema';
