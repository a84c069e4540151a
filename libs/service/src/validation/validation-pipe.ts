import { type ArgumentMetadata, type PipeTransform, ValidationPipe } from '@nestjs/common';
import { Problem } from '@certwright/errors';
import { badQuery, faultsFrom } from './field-faults';

export interface RequestValidationOptions {
  /** What happens to members that a body's class does not declare. Default: `refuse`. */
  readonly unknownMembers?: 'refuse' | 'ignore';
}

/**
 * Checks bodies and queries against their classes (class-validator) and hands the controller instances of them. A body
 * must be a JSON object. Unknown query parameters are ignored.
 *
 * @throws Problem `bad_request` for a body, `bad_query` for a query, with one fault per field
 */
export function requestValidation({
  unknownMembers = 'refuse',
}: RequestValidationOptions = {}): PipeTransform {
  const common = { transform: true, whitelist: true, stopAtFirstError: true } as const;
  const bodies = new ValidationPipe({
    ...common,
    forbidNonWhitelisted: unknownMembers === 'refuse',
    exceptionFactory: (errors) => Problem.ofFields(faultsFrom(errors)),
  });
  const queries = new ValidationPipe({
    ...common,
    exceptionFactory: (errors) => badQuery(faultsFrom(errors)),
  });
  return {
    transform(value: unknown, metadata: ArgumentMetadata): unknown {
      if (metadata.type !== 'body') return queries.transform(value, metadata);
      if (isValidated(metadata) && !isJsonObject(value)) {
        throw new Problem('bad_request', 'The body must be a JSON object.');
      }
      if (unknownMembers === 'refuse' && isValidated(metadata)) refuseInheritedNames(value as object);
      return bodies.transform(value, metadata);
    },
  };
}

/** A body whose parameter is declared with a class; `unknown` and plain types are the controller's own affair. */
function isValidated({ metatype }: ArgumentMetadata): boolean {
  const unchecked: readonly unknown[] = [undefined, Object, String, Number, Boolean, Array];
  return !unchecked.includes(metatype);
}

/** `constructor`, `toString` and the like: class-transformer drops them before class-validator could refuse them. */
function refuseInheritedNames(body: object): void {
  const names = Object.keys(body).filter((name) => name in Object.prototype);
  if (names.length === 0) return;
  throw Problem.ofFields(
    names.map((field) => ({ field, code: 'invalid_value', message: `There is no member ${field}.` })),
  );
}

const isJsonObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
