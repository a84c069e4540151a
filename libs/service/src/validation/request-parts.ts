import { type FieldFault, Problem } from '@certwright/errors';
import { Body, type PipeTransform, Query } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { badQuery } from './field-faults';
import { readMembers, type ReadMembers } from './read-members';

/**
 * A parameter decorator that also documents its parameter: `@IfMatch()` reads the header and adds it to the OpenAPI
 * operation.
 */
export function documentedParameter(
  parameter: ParameterDecorator,
  documentation: MethodDecorator,
): ParameterDecorator {
  return (controller, method, index) => {
    parameter(controller, method, index);
    const descriptor = method === undefined ? undefined : Object.getOwnPropertyDescriptor(controller, method);
    if (method !== undefined && descriptor !== undefined) documentation(controller, method, descriptor);
  };
}

/**
 * `@BodyOf(OrderRequest) body: ReadMembers<OrderRequest>`: the JSON body, read by the class that also documents it. Faults of
 * members are part of the result; `validMembers` throws them.
 *
 * @param isOptional no body, or null, is an object without members
 * @throws Problem `bad_request` when the body is not a JSON object
 */
export function BodyOf(type: new () => object, { isOptional = false } = {}): ParameterDecorator {
  return documentedParameter(Body(reader(type, isOptional)), ApiBody({ type, required: !isOptional }));
}

/** `@NoBody() body: ReadMembers<object>`: no body, or an object without members. Every member is unknown. */
export const NoBody = (): ParameterDecorator => Body(reader(class NoMembers {}, true));

function reader(type: new () => object, isOptional: boolean): PipeTransform {
  return {
    transform(body: unknown) {
      if (isOptional && (body === undefined || body === null)) return readMembers(type, {});
      if (isObject(body)) return readMembers(type, body);
      throw new Problem('bad_request', 'The body must be a JSON object.');
    },
  };
}

/** `@ValidQuery() query: OrdersQuery`: the query, read by its class. Unknown parameters are ignored. */
export const ValidQuery = (): ParameterDecorator => Query(queries);

const queries: PipeTransform = {
  /** @throws Problem `bad_query` with one sub-error per fault */
  transform(query: Readonly<Record<string, unknown>>, { metatype }) {
    const { value, faults } = readMembers(metatype as new () => object, query);
    if (faults.length === 0) return value;
    throw badQuery(faults);
  },
};

/** One fault per unknown member: a mistyped name must not be ignored. */
export function unknownMemberFaults({
  unknownMembers,
}: Pick<ReadMembers<unknown>, 'unknownMembers'>): FieldFault[] {
  return unknownMembers.map((field) => ({
    field,
    code: 'invalid_value',
    message: `There is no member ${field}.`,
  }));
}

/** @throws Problem `bad_request` with one sub-error per fault and per unknown member */
export function validMembers<T>(read: ReadMembers<T>): T {
  const faults = [...read.faults, ...unknownMemberFaults(read)];
  if (faults.length > 0) throw Problem.ofFields(faults);
  // Without a fault, no member is absent that the class requires.
  return read.value as T;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
