export { databaseErrorCode, databaseOutage, isDatabaseUnreachable } from './database-outage';
export { type FieldFault, maxFaults, Problem } from './problem';
export { problemExamples } from './problem-examples';
export { containsPrivateKey, holdsPrivateKey } from './private-key-text';
export { StartFault } from './start-fault';
export { type FieldFaultCode, fieldFaultCodes, type ProblemCode, problemCodes } from './problem-codes';
