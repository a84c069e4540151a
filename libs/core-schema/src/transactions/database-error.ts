import { databaseErrorCode } from '@certwright/errors';

interface ConstraintError {
  readonly constraint?: string;
  readonly driverError?: ConstraintError;
}

/** serialization_failure, deadlock_detected. */
export function isSerializationFailure(error: unknown): boolean {
  return ['40001', '40P01'].includes(databaseErrorCode(error) ?? '');
}

/** unique_violation of the index or constraint of that name. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  if (databaseErrorCode(error) !== '23505') return false;
  const { constraint: own, driverError } = error as ConstraintError;
  return (driverError?.constraint ?? own) === constraint;
}
