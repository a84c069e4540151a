import type { ArgumentMetadata } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsArray, IsOptional, IsString, Length, Max, Min, ValidateNested } from 'class-validator';
import { type FieldFault, Problem } from '@certwright/errors';
import { Unreadable } from './field-faults';
import { BooleanMember, EnumMember, Ignored, TextMember } from './members';
import { ReadBy, readMembers } from './read-members';
import { requestValidation, type RequestValidationOptions } from './validation-pipe';

class San {
  @IsString({ context: { code: 'invalid_dns_name' } })
  name!: string;
}

class Order {
  @Length(1, 5)
  name!: string;

  @IsOptional()
  @IsArray()
  @IsString({ each: true, context: { code: 'invalid_dns_name' } })
  dns_names?: string[];

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => San)
  sans?: San[];

  @IsOptional()
  @Max(100, { context: { code: 'out_of_range' } })
  @Min(1, { context: { code: 'no code of ours' } })
  limit?: number;
}

async function outcome(
  value: unknown,
  type: ArgumentMetadata['type'] = 'body',
  options: RequestValidationOptions = {},
  metatype: ArgumentMetadata['metatype'] = Order,
): Promise<unknown> {
  try {
    return await requestValidation(options).transform(value, { type, metatype });
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, message: error.message, faults: error.faults };
    throw error;
  }
}
async function faults(value: unknown): Promise<readonly FieldFault[]> {
  return ((await outcome(value)) as { faults: readonly FieldFault[] }).faults;
}

describe('a body', () => {
  it('that holds becomes an instance of its class', async () => {
    const order = await outcome({ name: 'a', sans: [{ name: 'b' }] });
    expect(order).toBeInstanceOf(Order);
    expect(order).toEqual({ name: 'a', sans: [{ name: 'b' }] });
  });

  it('that does not hold is a bad_request with one fault per field, each with the code of its rule', async () => {
    expect(await outcome({ dns_names: [1], limit: 101 })).toEqual({
      code: 'bad_request',
      message: 'The request cannot be carried out as it stands: see name, dns_names, limit.',
      faults: [
        { field: 'name', code: 'missing_field', message: expect.any(String) as string },
        { field: 'dns_names', code: 'invalid_dns_name', message: 'each value in dns_names must be a string' },
        { field: 'limit', code: 'out_of_range', message: 'limit must not be greater than 100' },
      ],
    });
    expect(await faults({ name: 'a', limit: 0 })).toMatchObject([{ field: 'limit', code: 'invalid_value' }]);
    expect(await faults({ name: null })).toMatchObject([{ field: 'name', code: 'invalid_value' }]);
  });

  it('says in the message where in the field the fault lies', async () => {
    expect(await faults({ name: 'a', sans: [{ name: 'b' }, { name: 1 }] })).toEqual([
      { field: 'sans', code: 'invalid_dns_name', message: 'sans[1].name: name must be a string' },
    ]);
  });

  it('with an unknown member is refused, and the member named, if need be in part', async () => {
    expect(await faults({ name: 'a', colour: 'red', sans: [{ name: 'b', x: 1 }] })).toEqual([
      { field: 'colour', code: 'invalid_value', message: 'There is no member colour.' },
      { field: 'sans', code: 'invalid_value', message: 'There is no member sans[0].x.' },
    ]);
    const [fault] = await faults({ name: 'a', ['😀'.repeat(5_000)]: 1 });
    expect(fault?.field).toBe(`${'😀'.repeat(64)}…`);
  });

  it('may be allowed unknown members, which are then left out', async () => {
    expect(await outcome({ name: 'a', x: 1 }, 'body', { unknownMembers: 'ignore' })).toEqual({ name: 'a' });
  });

  it('names at most 100 faults', async () => {
    const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`m${n}`, n]));
    expect(await faults({ name: 'a', ...members })).toHaveLength(100);
  });

  it.each([[undefined], [null], [[]], ['text'], [7], [true]])('%j is no JSON object', async (value) => {
    expect(await outcome(value)).toMatchObject({
      code: 'bad_request',
      message: 'The body must be a JSON object.',
      faults: [],
    });
  });

  it.each([
    ['constructor', { name: 'a', constructor: null }],
    ['toString', { name: 'a', toString: 1 }],
    ['a length', { name: 'a', dns_names: { length: 1e9 } }],
    ['then', { name: 'a', then: 1 }],
    ['an array for an object', { name: 'a', sans: [[], null, 1, 'x'] }],
    ['an object for a text', { name: { length: 3 } }],
  ])('with the member %s is refused without harm', async (_what, value) => {
    expect(await outcome(value)).toMatchObject({ code: 'bad_request' });
  });
});

describe('a query', () => {
  it('ignores unknown parameters, and is a bad_query when it does not hold', async () => {
    expect(await outcome({ name: 'a', utm_source: 'x' }, 'query')).toEqual({ name: 'a' });
    expect(await outcome({ name: 'too long' }, 'query')).toMatchObject({
      code: 'bad_query',
      message: 'The query cannot be answered as it stands: see name.',
      faults: [{ field: 'name', code: 'invalid_value' }],
    });
  });
});

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
