import { type FieldFaultCode, Problem } from '@certwright/errors';
import { documentedParameter, parseJsonBody, ReadBy, readMembers, Unreadable } from '@certwright/service';
import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions, ApiQuery } from '@nestjs/swagger';
import { IsDefined } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { Expansion } from './expansion';
import { reasonOfFault } from './problem';
import { type ReasonCode, reasons, Refusal } from './reasons';

/** Members of a body, or fields of a form or a query, as they were sent. */
export type Sent = Readonly<Record<string, unknown>>;

/** A field that was sent more than once. */
class Repeated {
  constructor(readonly values: readonly unknown[]) {}
}

/** @param fields of a form or a query: strings, or an array of them when a field is repeated */
export function fieldsIn(fields: Sent): Sent {
  const evened = Object.entries(fields).map(([name, value]) => [
    name,
    Array.isArray(value) ? new Repeated(value) : value,
  ]);
  return Object.fromEntries(evened) as Sent;
}

/**
 * @param body as it was parsed; undefined: the request had none
 * @throws Refusal `bad_request` when the body is not an object
 */
export function argumentsIn(body: unknown, isForm = false): Sent {
  if (body === undefined || body === null) return {};
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw new Refusal('bad_request', 'The body must be a form, or a JSON object of arguments.');
  }
  return isForm ? fieldsIn(body as Sent) : (body as Sent);
}

/** `@Given() given: Sent`: the arguments in the body of a POST. */
export const Given = createParamDecorator((_data: unknown, context: ExecutionContext): Sent => {
  const { headers, body } = context.switchToHttp().getRequest<FastifyRequest>();
  return argumentsIn(body, /^application\/x-www-form-urlencoded/i.test(headers['content-type'] ?? ''));
});

/**
 * Reads arguments by their class, in the order in which it declares them: a form's like those of JSON. Unknown ones are
 * ignored.
 *
 * @throws Refusal for the first invalid one
 */
export function readArguments<T extends object>(type: new () => T, sent: Sent): T {
  const { value, faults } = readMembers<T, ReasonCode | FieldFaultCode>(type, sent, {
    untilFirstFault: true,
  });
  const [fault] = faults;
  if (fault === undefined) return value as T;
  const { code, message, field } = fault;
  throw new Refusal(isReason(code) ? code : reasonOfFault[code], message, { param: field });
}

const isReason = (code: string): code is ReasonCode => Object.hasOwn(reasons, code);

/** A value, undefined when omitted, or why it is invalid. */
export type Reading<T> = T | undefined | Unreadable<ReasonCode>;

/** Why an argument cannot be read. @param message never repeats what may be a secret */
export function unreadable(reason: ReasonCode, message: string): Unreadable<ReasonCode> {
  return new Unreadable([{ code: reason, message }]);
}

/** Documentation of an argument; null: existing clients send it, and new ones have no use for it. */
type Documented = ApiPropertyOptions | null;

/** An argument that a function reads. */
export function Argument(
  documented: Documented,
  read: (value: unknown, name: string) => unknown,
): PropertyDecorator {
  return (target, member) => {
    const reader = ReadBy<ReasonCode>((value) => read(value, String(member)));
    if (documented === null) reader(target, member);
    else applyDecorators(ApiPropertyOptional(documented), reader)(target, member);
  };
}

/** To be written above the decorator that reads the argument. */
export function Required(): PropertyDecorator {
  return (target, member) => {
    IsDefined({ message: isRequiredHere(String(member)) })(target, member);
    ApiProperty({ required: true })(target, member);
  };
}

/** A string; an empty one is a value. A JSON number is converted to text, and null counts as omitted. */
export function TextArgument(
  documented: Documented,
  read: (text: string, name: string) => unknown = (text) => text,
): PropertyDecorator {
  return Argument(documented && { type: String, ...documented }, (value, name) => {
    const text = readText(value, name);
    return typeof text === 'string' ? read(text, name) : text;
  });
}

/** `true`, `"true"`, `"1"` or `1`; null counts as omitted. */
export function FlagArgument(documented: Documented): PropertyDecorator {
  return Argument(documented && { type: Boolean, ...documented }, readFlag);
}

/** An integer; an empty string counts as omitted. */
export function IntegerArgument(min: number, max: number, documented: Documented): PropertyDecorator {
  return Argument(documented && { type: 'integer', ...documented }, (value, name) => {
    const text = readText(value, name);
    if (typeof text !== 'string' || text === '') return text === '' ? undefined : text;
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    return unreadable('bad_param', `${name} must be a whole number from ${min} to ${max}.`);
  });
}

/**
 * A value of JSON: a member of the body, or the text of one, which is all that a form has. A null member counts as
 * omitted, unless the argument is documented as nullable.
 *
 * @param reason why it is refused when the text is not JSON
 */
export function JsonArgument(
  documented: ApiPropertyOptions,
  reason: ReasonCode,
  read: (value: unknown, name: string) => unknown,
): PropertyDecorator {
  return Argument(documented, (value, name) => {
    if (value === null && documented.nullable !== true) return undefined;
    const json = readJson(value, name, reason);
    return json instanceof Unreadable ? json : read(json, name);
  });
}

/** The values of a field that may be repeated, empty ones left out. */
export function RepeatableArgument(
  documented: ApiPropertyOptions,
  read: (values: readonly unknown[], name: string) => unknown = (values) => values,
): PropertyDecorator {
  return Argument({ type: [String], ...documented }, (value, name) =>
    read(
      valuesOf(value).filter((each) => each !== ''),
      name,
    ),
  );
}

const valuesOf = (value: unknown) => (value instanceof Repeated ? value.values : [value ?? '']);

/** Which expandable members the response has. */
export const ExpandArgument = () =>
  RepeatableArgument({ description: expandDescription }, (values) => Expansion.of(values));

const expandDescription = 'Expandable members to include; nested by dots; repeatable.';

const readExpansion = createParamDecorator((_data: unknown, context: ExecutionContext): Expansion => {
  const { query } = context.switchToHttp().getRequest<FastifyRequest<{ Querystring: Sent }>>();
  return Expansion.of(query['expand']);
});

/** `@Expand() expansion: Expansion`: for a query without other parameters. */
export const Expand = () =>
  documentedParameter(
    readExpansion(),
    ApiQuery({ name: 'expand', type: [String], required: false, description: expandDescription }),
  );

function readText(value: unknown, name: string): Reading<string> {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined;
  if (typeof value === 'number') return String(value);
  return value instanceof Repeated ? sentTwice(name) : unreadable('bad_param', `${name} must be a string.`);
}

export function readFlag(value: unknown, name: string): Reading<boolean> {
  if (value === undefined || value === null) return undefined;
  if (value instanceof Repeated) return sentTwice(name);
  return flags.get(value) ?? unreadable('bad_param', `${name} must be true or false (1 or 0).`);
}

const flags: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  [true, true],
  ['true', true],
  ['1', true],
  [1, true],
  [false, false],
  ['false', false],
  ['0', false],
  [0, false],
]);

/** @param reason why it is refused when the text is not JSON */
export function readJson(value: unknown, name: string, reason: ReasonCode): unknown {
  if (value instanceof Repeated) return sentTwice(name, reason);
  if (typeof value !== 'string') return value;
  try {
    return parseJsonBody(Buffer.from(value));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The parser's message mentions the body, the source of most of its JSON.
    const why = error.faults[0]?.message ?? error.message.replace(/^The body/, 'The text');
    return unreadable(reason, `${name} is not valid JSON. ${why}`);
  }
}

function sentTwice(name: string, reason: ReasonCode = 'bad_param'): Unreadable<ReasonCode> {
  return unreadable(reason, `${name} was sent more than once.`);
}

const isRequiredHere = (name: string) => `${name} is required here.`;

export function missingParam(name: string): Refusal {
  return new Refusal('missing_param', isRequiredHere(name), { param: name });
}

/** @param what of the parameter, to follow its name */
export function badParam(name: string, reason: ReasonCode, what: string): Refusal {
  return new Refusal(reason, `${name} ${what}`, { param: name });
}
