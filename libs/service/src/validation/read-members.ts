import type { FieldFault, FieldFaultCode } from '@certwright/errors';
import { getMetadataStorage, ValidateBy, type ValidationError, validateSync } from 'class-validator';

/** Unknown members that are named one by one; a body may hold tens of thousands of them. */
const maxUnknownMembers = 20;

/** Characters of a member's name that are repeated to the caller. */
const maxNameLength = 64;

/** A fault of one member. @template C the API's codes */
export type MemberFault<C extends string = FieldFaultCode> = Omit<FieldFault, 'code'> & { readonly code: C };

/** A fault that a reader found. Its field is the member, unless it names a part of it or a member covers several fields. */
type ReaderFault<C extends string> = Omit<MemberFault<C>, 'field'> & Partial<Pick<FieldFault, 'field'>>;

/** What the reader of a member returns in place of a value (see `ReadBy`). */
export class Unreadable<C extends string = FieldFaultCode> {
  constructor(readonly faults: readonly ReaderFault<C>[]) {}

  static because(message: string): Unreadable {
    return new Unreadable([{ code: 'invalid_value', message }]);
  }
}

interface Reader {
  readonly read: (value: unknown) => unknown;
  readonly isRequired: boolean;
}

/** By the prototype of the class that declares the member, then by the member's name. */
const readers = new WeakMap<object, Map<string, Reader>>();

interface DeclaredMembers {
  /** In the order of declaration, those of a parent class first. */
  readonly names: ReadonlyMap<string, Reader | undefined>;
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

/**
 * A member that is an object of another class, required unless it says otherwise. The field of a fault in it is its path, such
 * as `record.ttl`.
 */
export function ReadObject(type: new () => object, { isRequired = true } = {}): PropertyDecorator {
  return (target, member) =>
    ReadBy((sent) => readNested(type, sent, `${String(member)}.`), { isRequired })(target, member);
}

function readNested(type: new () => object, sent: unknown, path: string): unknown {
  if (!isJsonObject(sent)) {
    const code = sent === undefined ? 'missing_field' : 'invalid_value';
    return new Unreadable([{ code, message: 'It must be a JSON object.' }]);
  }
  const read = readMembers(type, sent);
  const faults = [...read.faults, ...unknownMemberFaults(read)];
  if (faults.length === 0) return read.value;
  return new Unreadable(faults.map((fault) => ({ ...fault, field: path + fault.field })));
}

export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface ReadMembers<T, C extends string = FieldFaultCode> {
  /** The members that were sent and are valid; the others are absent. */
  readonly value: Partial<T>;
  /** In the order in which the class declares its members. */
  readonly faults: readonly MemberFault<C>[];
  /** Names that the class does not declare: the first 20, shortened. */
  readonly unknownMembers: readonly string[];
}

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

export interface ReadingOptions {
  /** For APIs that respond with one fault: no member after the first invalid one is read. Default: false. */
  readonly untilFirstFault?: boolean;
}

/**
 * Reads an object by its class: every declared member, in the order of declaration, by its `@ReadBy` function and the
 * decorators of class-validator. Throws nothing, since some APIs respond with these faults and those of their rules together.
 */
export function readMembers<T extends object, C extends string = FieldFaultCode>(
  type: new () => T,
  sent: Readonly<Record<string, unknown>>,
  { untilFirstFault = false }: ReadingOptions = {},
): ReadMembers<T, C> {
  const instance = new type();
  const members = instance as Record<string, unknown>;
  const { names, hasRules } = declaredMembers(type);
  const unknownMembers: string[] = [];
  for (const member of Object.keys(sent)) {
    if (names.has(member)) continue;
    if (unknownMembers.push(namedInPart(member)) === maxUnknownMembers) break;
  }
  for (const [member, reader] of names) {
    const isSent = Object.hasOwn(sent, member);
    if (!isSent && reader?.isRequired !== true) continue;
    const given = isSent ? sent[member] : undefined;
    const value = reader === undefined ? given : reader.read(given);
    if (value !== undefined) members[member] = value;
    if (untilFirstFault && value instanceof Unreadable) break;
  }
  const faults: MemberFault[] = [];
  for (const error of invalidMembers(instance, names, hasRules)) {
    faults.push(...faultsOf(error));
    delete members[error.property];
  }
  // Readers and contexts give the codes of their API.
  return { value: instance, faults: faults as unknown as MemberFault<C>[], unknownMembers };
}

/** In the order of declaration. A class without rules of class-validator does without its 3 µs. */
function invalidMembers(
  instance: object,
  names: DeclaredMembers['names'],
  hasRules: boolean,
): readonly ValidationError[] {
  if (!hasRules) {
    // Not in the order of the instance, whose defaults come first.
    const members = instance as Readonly<Record<string, unknown>>;
    const invalid: ValidationError[] = [];
    for (const property of names.keys())
      if (members[property] instanceof Unreadable) invalid.push({ property, value: members[property] });
    return invalid;
  }
  const errors = validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });
  const order = [...names.keys()];
  return errors.sort((one, other) => order.indexOf(one.property) - order.indexOf(other.property));
}

function faultsOf({ property, value, constraints = {}, contexts = {} }: ValidationError): MemberFault[] {
  const field = namedInPart(property);
  if (value instanceof Unreadable) return (value as Unreadable).faults.map((fault) => ({ field, ...fault }));
  return Object.entries(constraints).map(([broken, message]) => {
    const { code } = (contexts[broken] ?? {}) as { readonly code?: FieldFaultCode };
    return { field, code: code ?? (value === undefined ? 'missing_field' : 'invalid_value'), message };
  });
}

function declaredMembers(type: new () => object): DeclaredMembers {
  const known = declared.get(type);
  if (known !== undefined) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const names = new Map<string, Reader | undefined>();
  for (const each of [...lineage(type)].reverse()) {
    for (const { target, propertyName } of rules) {
      if (target !== each) continue;
      names.set(propertyName, readers.get(each.prototype)?.get(propertyName) ?? names.get(propertyName));
    }
  }
  const members = { names, hasRules: rules.some(({ name }) => name !== rule) };
  declared.set(type, members);
  return members;
}

/** The class, its parent and so on. */
function* lineage(type: unknown): Generator<{ readonly prototype: object }> {
  for (let at = type; typeof at === 'function'; at = Object.getPrototypeOf(at))
    yield at as { prototype: object };
}

/** A name that the caller sent, cut after 64 characters. */
function namedInPart(name: string): string {
  if (name.length <= maxNameLength) return name.toWellFormed();
  // By characters, so that none is cut in half.
  return `${[...name.slice(0, 2 * maxNameLength)].slice(0, maxNameLength).join('').toWellFormed()}…`;
}
