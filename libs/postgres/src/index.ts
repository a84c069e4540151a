export { type DatabaseConnection, dataSourceOptions } from './data-source-options';
export {
  DatabaseClient,
  type DatabaseClientConfig,
  DatabasePool,
  type DatabasePooler,
  type DatabaseUrl,
  databaseDriver,
} from './database-pool';
export { type DeploymentIdentity, deploymentIdentity } from './deployment-identity';
export { LeaseLost, leases } from './lease';
export { type AppliedGrants, applyGrants, type RoleSettings } from './roles/apply-grants';
export { warnOfExcessPrivileges } from './roles/excess-privileges';
export {
  columnNames,
  type DefinerFunction,
  type GrantedSchema,
  privilegesOf,
  type RoleGrants,
  roleOf,
  type TableGrants,
} from './roles/role-grants';
export { awaitSchema, databaseTime, schemaCheck, type UsedSchema } from './schema-version';
export { statementName } from './statement-name';
export { type SessionSettings, sessionSettings } from './session-settings';
export { awaitSettings, settingsProblem } from './settings-check';
