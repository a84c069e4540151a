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
  return databaseErrorCode(error) === '23505' && isOf(error, constraint);
}

/** foreign_key_violation of the constraint of that name. */
export function isForeignKeyViolation(error: unknown, constraint: string): boolean {
  return databaseErrorCode(error) === '23503' && isOf(error, constraint);
}

function isOf(error: unknown, constraint: string): boolean {
  const { constraint: own, driverError } = error as ConstraintError;
  return (driverError?.constraint ?? own) === constraint;
}
