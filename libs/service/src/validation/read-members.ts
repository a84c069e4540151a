import type { FieldFault, FieldFaultCode } from '@certwright/errors';
import { getMetadataStorage, ValidateBy, validateSync } from 'class-validator';
import { faultsFrom, namedInPart, Unreadable } from './field-faults';

/** Unknown members that are named one by one; a body may hold tens of thousands of them. */
const maxUnknownMembers = 20;

type Reader = (value: unknown) => unknown;

/** By the prototype of the class that declares the member, then by the member's name. */
const readers = new WeakMap<object, Map<string, Reader>>();

/** Known names of a class, from its first reading on. */
const declared = new WeakMap<object, ReadonlySet<string>>();

/**
 * A member that a function reads. Its value becomes what the function returns: `dns_names` become normalized names, a CSR
 * is decoded once. The function is not called for a member that is absent.
 *
 * @param read returns the value, or `Unreadable` with one or more faults
 */
export function ReadBy<C extends string = FieldFaultCode>(
  read: (value: unknown) => Unreadable<C> | unknown,
): PropertyDecorator {
  const isReadable = ValidateBy({
    name: 'readBy',
    validator: { validate: (value) => !(value instanceof Unreadable) },
  });
  return (target, member) => {
    const ofClass = readers.get(target) ?? new Map<string, Reader>();
    readers.set(target, ofClass.set(String(member), read));
    isReadable(target, member);
  };
}

export interface ReadMembers<T, C extends string = FieldFaultCode> {
  /** The members that were sent and hold; the others are absent. */
  readonly value: Partial<T>;
  /** In the order in which the class declares its members. */
  readonly faults: readonly (Omit<FieldFault, 'code'> & { readonly code: C })[];
  /** Names that the class does not declare: the first 20, shortened. */
  readonly unknownMembers: readonly string[];
}

export interface ReadingOptions {
  /** For APIs that answer with one fault: a member after one that cannot be read costs nothing. Default: false. */
  readonly untilFirstFault?: boolean;
}

/**
 * Reads an object by its class, in the order in which it declares its members: every declared member by its `@ReadBy` function and the decorators of class-validator.
 * Throws nothing, since some APIs answer with these faults and those of their rules together.
 */
export function readMembers<T extends object, C extends string = FieldFaultCode>(
  type: new () => T,
  sent: Readonly<Record<string, unknown>>,
  { untilFirstFault = false }: ReadingOptions = {},
): ReadMembers<T, C> {
  const instance = new type();
  const members = instance as Record<string, unknown>;
  const known = declaredMembers(type);
  const unknownMembers: string[] = [];
  for (const member of Object.keys(sent)) {
    if (known.has(member)) continue;
    if (unknownMembers.push(namedInPart(member)) === maxUnknownMembers) break;
  }
  for (const member of known) {
    if (!Object.hasOwn(sent, member)) continue;
    const read = readerOf(type.prototype as object, member);
    const value = read === undefined ? sent[member] : read(sent[member]);
    if (value !== undefined) members[member] = value;
    if (untilFirstFault && value instanceof Unreadable) break;
  }
  const errors = validateSync(instance, { stopAtFirstError: true, forbidUnknownValues: false });
  const order = [...known];
  errors.sort((one, other) => order.indexOf(one.property) - order.indexOf(other.property));
  for (const { property } of errors) delete members[property];
  return { value: instance, faults: faultsFrom<C>(errors), unknownMembers };
}

/** Those of a parent come before those of its subclass. */
function declaredMembers(type: new () => object): ReadonlySet<string> {
  const known = declared.get(type);
  if (known !== undefined) return known;
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const classes: unknown[] = [];
  for (let at: unknown = type; typeof at === 'function'; at = Object.getPrototypeOf(at)) classes.unshift(at);
  const ordered = classes.flatMap((each) => rules.filter(({ target }) => target === each));
  const names = new Set(ordered.map(({ propertyName }) => propertyName));
  declared.set(type, names);
  return names;
}

/** A subclass inherits the readers of its parents. */
function readerOf(prototype: object, member: string): Reader | undefined {
  for (let at: object | null = prototype; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const read = readers.get(at)?.get(member);
    if (read !== undefined) return read;
  }
  return undefined;
}
