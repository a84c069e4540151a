import { maxFaults, Problem } from '@certwright/errors';
import { Body, type PipeTransform, Query } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import { SentBytes } from '../http/body-parsers';
import { addRouteConfig } from '../http/route-config';
import { isJsonObject, readMembers, type ReadMembers, unknownMemberFaults } from './read-members';

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

export interface BodyOptions {
  /** No body, or null, is an object without members. Default: false. */
  readonly isOptional?: boolean;
  /** Media types of bodies that are passed on as `SentBytes`. Default: none. */
  readonly otherTypes?: readonly string[];
}

/**
 * `@BodyOf(OrderRequest) body: ReadMembers<OrderRequest>`: the JSON body, read by the class that also documents it. Faults of
 * members are part of the result; `validMembers` throws them.
 *
 * @throws Problem `bad_request` when the body is not a JSON object
 */
export function BodyOf(
  type: new () => object,
  { isOptional = false, otherTypes = [] }: BodyOptions = {},
): ParameterDecorator {
  return documentedParameter(Body(reader(type, isOptional)), (controller, method, descriptor) => {
    ApiBody({ type, required: !isOptional })(controller, method, descriptor);
    const handler = descriptor.value as object | undefined;
    if (handler !== undefined) addRouteConfig(handler, { bodyTypes: otherTypes, bodyMayBeEmpty: isOptional });
  });
}

/** `@NoBody() body: ReadMembers<object>`: no body, or an object without members. Every member is unknown. */
export const NoBody = (): ParameterDecorator => Body(reader(class NoMembers {}, true));

function reader(type: new () => object, isOptional: boolean): PipeTransform {
  return {
    transform: (body: unknown) => {
      if (body instanceof SentBytes) return body;
      return readMembers(type, jsonObject(isOptional ? (body ?? {}) : body));
    },
  };
}

function jsonObject(sent: unknown): Readonly<Record<string, unknown>> {
  if (isJsonObject(sent)) return sent;
  throw new Problem('bad_request', 'The body must be a JSON object.');
}

/**
 * Reads a body or a query by the class of its parameter: `@Body(requestReading) record: RecordRequest`. Unknown members of a
 * body are faults; unknown parameters of a query are ignored.
 *
 * @throws Problem `bad_request` for a body, `bad_query` for a query, with one sub-error per fault
 */
export const requestReading: PipeTransform<unknown, object> = {
  transform(sent, { type, metatype }) {
    const read = readMembers(metatype as new () => object, jsonObject(sent));
    if (type !== 'query') return validMembers(read);
    if (read.faults.length === 0) return read.value;
    const faults = read.faults.slice(0, maxFaults);
    const fields = [...new Set(faults.map(({ field }) => field))].join(', ');
    throw new Problem('bad_query', `The query is not valid: see ${fields}.`, { faults });
  },
};

/** `@ValidQuery() query: OrdersQuery`: the query, read by its class. */
export const ValidQuery = (): ParameterDecorator => Query(requestReading);

/** @throws Problem `bad_request` with one sub-error per fault and per unknown member */
export function validMembers<T>(read: ReadMembers<T>): T {
  const faults = [...read.faults, ...unknownMemberFaults(read)];
  if (faults.length > 0) throw Problem.ofFields(faults);
  // Without a fault, no member is absent that the class requires.
  return read.value as T;
}
