import type { FieldFault, FieldFaultCode } from '@certwright/errors';
import { getMetadataStorage, ValidateBy, type ValidationError, validateSync } from 'class-validator';
import { faultsFrom, type MemberFault, namedInPart, Unreadable } from './field-faults';

/** Unknown members that are named one by one; a body may hold tens of thousands of them. */
const maxUnknownMembers = 20;

interface Reader {
  readonly read: (value: unknown) => unknown;
  readonly isRequired: boolean;
}

/** By the prototype of the class that declares the member, then by the member's name. */
const readers = new WeakMap<object, Map<string, Reader>>();

interface DeclaredMembers {
  readonly names: ReadonlySet<string>;
  /** Names of those that are read although they are absent. */
  readonly required: readonly string[];
  /** Whether some have rules of class-validator besides `ReadBy`. */
  readonly hasRules: boolean;
}

/** Of a class, from its first reading on. */
const declared = new WeakMap<object, DeclaredMembers>();

const rule = 'readBy';

/**
 * A member that a function reads. Its value becomes what the function returns: `dns_names` become normalized names, a CSR
 * is decoded once. The function is not called for a member that is absent, unless the member is required.
 *
 * @param read returns the value, or `Unreadable` with one or more faults
 */
export function ReadBy<C extends string = FieldFaultCode>(
  read: (value: unknown) => Unreadable<C> | unknown,
  { isRequired = false }: { readonly isRequired?: boolean } = {},
): PropertyDecorator {
  const isReadable = ValidateBy({
    name: rule,
    validator: { validate: (value) => !(value instanceof Unreadable) },
  });
  return (target, member) => {
    const ofClass = readers.get(target) ?? new Map<string, Reader>();
    readers.set(target, ofClass.set(String(member), { read, isRequired }));
    isReadable(target, member);
  };
}

/** A required member that is an object of another class. The field of a fault in it is its path, such as `record.ttl`. */
export function ReadObject(type: new () => object): PropertyDecorator {
  return (target, member) =>
    ReadBy((sent) => readNested(type, sent, `${String(member)}.`), { isRequired: true })(target, member);
}

function readNested(type: new () => object, sent: unknown, path: string): unknown {
  if (!isJsonObject(sent)) {
    const code = sent === undefined ? 'missing_field' : 'invalid_value';
    return new Unreadable([{ code, message: 'It must be a JSON object.' }]);
  }
  const { value, faults, unknownMembers } = readMembers(type, sent);
  const all = [...faults, ...unknownMembers.map(unknownMember)];
  if (all.length === 0) return value;
  return new Unreadable(all.map((fault) => ({ ...fault, field: path + fault.field })));
}

export const unknownMember = (name: string): MemberFault => ({
  field: name,
  code: 'invalid_value',
  message: `There is no member ${name}.`,
});

export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface ReadMembers<T, C extends string = FieldFaultCode> {
  /** The members that were sent and hold; the others are absent. */
  readonly value: Partial<T>;
  /** In the order in which the class declares its members. */
  readonly faults: readonly (Omit<FieldFault, 'code'> & { readonly code: C })[];
  /** Names that the class does not declare: the first 20, shortened. */
  readonly unknownMembers: readonly string[];
}

/**
 * Reads an object by its class: every declared member by its `@ReadBy` function and the decorators of class-validator.
 * Throws nothing, since some APIs answer with these faults and those of their rules together.
 */
export function readMembers<T extends object, C extends string = FieldFaultCode>(
  type: new () => T,
  sent: Readonly<Record<string, unknown>>,
): ReadMembers<T, C> {
  const instance = new type();
  const members = instance as Record<string, unknown>;
  const { names, required, hasRules } = declaredMembers(type);
  const prototype = type.prototype as object;
  const unknownMembers: string[] = [];
  for (const member of Object.keys(sent)) {
    if (!names.has(member)) {
      if (unknownMembers.length < maxUnknownMembers) unknownMembers.push(namedInPart(member));
      continue;
    }
    const reader = readerOf(prototype, member);
    const value = reader === undefined ? sent[member] : reader.read(sent[member]);
    if (value !== undefined) members[member] = value;
  }
  for (const member of required)
    if (!Object.hasOwn(sent, member)) members[member] = readerOf(prototype, member)?.read(undefined);
  // What class-validator takes, 3 µs, is as long as reading a query.
  const errors = hasRules
    ? validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false })
    : unreadable(names, members);
  for (const { property } of errors) delete members[property];
  return { value: instance, faults: faultsFrom<C>(errors), unknownMembers };
}

function unreadable(
  names: ReadonlySet<string>,
  members: Readonly<Record<string, unknown>>,
): readonly ValidationError[] {
  const errors: ValidationError[] = [];
  for (const property of names) {
    const value = members[property];
    if (value instanceof Unreadable) errors.push({ property, value });
  }
  return errors;
}

function declaredMembers(type: new () => object): DeclaredMembers {
  const known = declared.get(type);
  if (known !== undefined) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = new Set(rules.map(({ propertyName }) => propertyName));
  const members: DeclaredMembers = {
    names,
    required: [...names].filter((name) => readerOf(type.prototype as object, name)?.isRequired === true),
    hasRules: rules.some(({ name }) => name !== rule),
  };
  declared.set(type, members);
  return members;
}

/** A subclass inherits the readers of its parents. */
function readerOf(prototype: object, member: string): Reader | undefined {
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const reader = readers.get(at)?.get(member);
    if (reader !== undefined) return reader;
  }
  return undefined;
}
