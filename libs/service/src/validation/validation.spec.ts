import { type FieldFault, Problem } from '@certwright/errors';
import type { ArgumentMetadata } from '@nestjs/common';
import { BooleanMember, EnumMember, Ignored, TextMember } from './members';
import { ReadBy, readMembers, ReadObject, Unreadable } from './read-members';
import { requestReading } from './request-parts';

class Plan {
  @ReadBy((value) =>
    Array.isArray(value)
      ? value.map(String)
      : new Unreadable([
          { code: 'invalid_dns_name', message: 'The first fault.' },
          { code: 'too_many_names', message: 'The second fault.' },
        ]),
  )
  dns_names?: readonly string[];

  @EnumMember(['rsa', 'ecdsa'], {})
  key_type?: string;

  @BooleanMember({})
  muted?: boolean;

  @TextMember({ nullable: true })
  cluster?: string;

  @Ignored()
  revision?: unknown;
}

describe('an object that is read by its class', () => {
  it('has the values that the readers return, without members that are absent or ignored', () => {
    const { value, faults, unknownMembers } = readMembers(Plan, {
      muted: true,
      dns_names: [1, 2],
      revision: 7,
    });
    expect({ ...value }).toEqual({ dns_names: ['1', '2'], muted: true });
    expect(value).toBeInstanceOf(Plan);
    expect([...faults, ...unknownMembers]).toEqual([]);
  });

  it('has every fault of every member, in the order in which they are declared, and keeps what holds', () => {
    expect(readMembers(Plan, { cluster: 1, muted: null, key_type: 'dsa', dns_names: null })).toEqual({
      value: {},
      faults: [
        { field: 'dns_names', code: 'invalid_dns_name', message: 'The first fault.' },
        { field: 'dns_names', code: 'too_many_names', message: 'The second fault.' },
        { field: 'key_type', code: 'invalid_value', message: 'It must be "rsa" or "ecdsa".' },
        { field: 'muted', code: 'invalid_value', message: 'It must be true or false.' },
        { field: 'cluster', code: 'invalid_value', message: 'It must be a string.' },
      ],
      unknownMembers: [],
    });
  });

  it('names 20 unknown members, shortened; inherited names are unknown too', () => {
    const sent = JSON.parse('{"__proto__": {"muted": 1}, "constructor": 1, "toString": 1}') as object;
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`m${n}`, n]));
    const { unknownMembers, value } = readMembers(Plan, { ...sent, ['x'.repeat(500)]: 1, ...many });
    expect(unknownMembers).toHaveLength(20);
    expect(readMembers(Plan, sent as Record<string, unknown>).unknownMembers).toEqual([
      '__proto__',
      'constructor',
      'toString',
    ]);
    expect(unknownMembers).toContain(`${'x'.repeat(64)}…`);
    expect(value).toBeInstanceOf(Plan);
    expect(({} as { muted?: unknown }).muted).toBeUndefined();
  });

  it('reads no member after the first one with a fault, where one is enough', () => {
    const read = jest.fn((value: unknown) => value);
    class Certificate {
      @ReadBy(() => new Unreadable([{ code: 'invalid_value', message: 'A fault.', field: 'tags.x' }]))
      tags?: unknown;

      @ReadBy(read)
      csr?: unknown;
    }
    const sent = { csr: 'PEM', tags: 'x' };
    const { faults } = readMembers(Certificate, sent, { untilFirstFault: true });
    expect(faults).toEqual([{ code: 'invalid_value', message: 'A fault.', field: 'tags.x' }]);
    expect(read).not.toHaveBeenCalled();
    expect(readMembers(Certificate, sent).value).toEqual({ csr: 'PEM' });
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('has the members of a parent before its own', () => {
    const fault = () => Unreadable.because('A fault.');
    class Parent {
      @ReadBy(fault)
      crt?: unknown;
    }
    class Child extends Parent {
      @ReadBy(fault)
      chain?: unknown;
    }
    const { faults } = readMembers(Child, { chain: 1, crt: 1 });
    expect(faults.map(({ field }) => field)).toEqual(['crt', 'chain']);
  });
});

class Ttl {
  @ReadBy((value) => (Number.isSafeInteger(value) ? value : Unreadable.because('It must be a whole number.')))
  ttl?: number;
}

class Publication {
  @ReadBy((value) => value ?? new Unreadable([{ code: 'missing_field', message: 'It is required.' }]), {
    isRequired: true,
  })
  name: unknown;

  @ReadObject(Ttl)
  record: Ttl;
}

const reading = (value: unknown, type: ArgumentMetadata['type'], metatype: ArgumentMetadata['metatype']) => {
  try {
    return requestReading.transform(value, { type, metatype });
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, message: error.message, faults: error.faults };
    throw error;
  }
};

describe('a request that is read by the class of its parameter', () => {
  it('becomes an instance, with the objects in it', () => {
    const read = reading({ name: 'a', record: { ttl: 60 } }, 'body', Publication) as Publication;
    expect([read, read.record]).toEqual([{ name: 'a', record: { ttl: 60 } }, { ttl: 60 }]);
    expect([read, read.record].map(({ constructor }) => constructor)).toEqual([Publication, Ttl]);
  });

  it('has a fault with its path for each member that is missing, unknown or not readable', () => {
    expect(reading({ record: { ttl: '60', x: 1 }, colour: 'red' }, 'body', Publication)).toMatchObject({
      code: 'bad_request',
      faults: [
        { field: 'name', code: 'missing_field', message: 'It is required.' },
        { field: 'record.ttl', code: 'invalid_value', message: 'It must be a whole number.' },
        { field: 'record.x', code: 'invalid_value', message: 'There is no member x.' },
        { field: 'colour', code: 'invalid_value', message: 'There is no member colour.' },
      ],
    });
    expect(reading({ name: 'a' }, 'body', Publication)).toMatchObject({
      faults: [{ field: 'record', code: 'missing_field', message: 'It must be a JSON object.' }],
    });
    expect(reading({ name: 'a', record: [] }, 'body', Publication)).toMatchObject({
      faults: [{ field: 'record', code: 'invalid_value' }],
    });
  });

  it('has 100 faults at most, and has to be an object', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`m${n}`, n]));
    const { faults } = reading({ record: many, ...many }, 'body', Publication) as { faults: FieldFault[] };
    expect(faults.length).toBeLessThanOrEqual(100);
    for (const body of [null, undefined, [], 'x', 7])
      expect(reading(body, 'body', Publication)).toMatchObject({ code: 'bad_request', faults: [] });
  });

  it('ignores unknown parameters of a query', () => {
    expect(reading({ ttl: 1, utm_source: 'x' }, 'query', Ttl)).toEqual({ ttl: 1 });
    expect(reading({ ttl: 'x' }, 'query', Ttl)).toEqual({
      code: 'bad_query',
      message: 'The query is not valid: see ttl.',
      faults: [{ field: 'ttl', code: 'invalid_value', message: 'It must be a whole number.' }],
    });
  });
});
