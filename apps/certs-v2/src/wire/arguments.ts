import { Problem } from '@certwright/errors';
import { parseJsonBody } from '@certwright/service';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type ReasonCode, Refusal } from './reasons';

/** Characters of an argument's name that an answer repeats; a name can be as long as the body. */
const longestParam = 100;

/**
 * What a POST asks for, the same for a form and for JSON: a flag is `true`, `"true"` or `1`, a list is an array or the text
 * of one. Names that nobody reads do no harm. A JSON null says nothing about a text or a flag; where it means something,
 * `json` shows it.
 */
export class Arguments {
  private constructor(
    private readonly given: Readonly<Record<string, unknown>>,
    private readonly isForm: boolean,
  ) {}

  /**
   * @param body as it was parsed; undefined: the request had none
   * @param isForm its fields are texts, and one that comes more than once is an array of them
   * @throws Refusal `bad_request` when the body is no object
   */
  static of(body: unknown, isForm = false): Arguments {
    if (body === undefined || body === null) return new Arguments({}, isForm);
    if (typeof body !== 'object' || Array.isArray(body)) {
      throw new Refusal('bad_request', 'The body must be a form, or a JSON object of arguments.');
    }
    return new Arguments(body as Readonly<Record<string, unknown>>, isForm);
  }

  names(): string[] {
    return Object.keys(this.given);
  }

  /** Also where it is null, or empty. */
  has(name: string): boolean {
    return Object.hasOwn(this.given, name) && this.given[name] !== undefined;
  }

  /**
   * @returns undefined when it is not given; an empty text is a value
   * @throws Refusal `bad_param`
   */
  text(name: string): string | undefined {
    const value = this.once(name);
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return String(value);
    throw badParam(name, 'bad_param', 'must be a text.');
  }

  /** @throws Refusal `missing_param`, `bad_param` */
  requiredText(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw missingParam(name);
    return text;
  }

  /**
   * @returns undefined when it is not given
   * @throws Refusal `bad_param`
   */
  boolean(name: string): boolean | undefined {
    const value = this.once(name);
    if (value === undefined || value === null) return undefined;
    const flag = flags.get(value);
    if (flag === undefined) throw badParam(name, 'bad_param', 'must be true or false (1 or 0).');
    return flag;
  }

  /** Whether it is meant as a list: an array, or a text that begins like that of one. */
  isList(name: string): boolean {
    const value = this.has(name) ? this.given[name] : undefined;
    return Array.isArray(value) || (typeof value === 'string' && value.trimStart().startsWith('['));
  }

  /**
   * What JSON says: as a member of the body, or as a text, which a form has for everything.
   *
   * @param reason why it is refused when the text is no JSON
   * @returns undefined when it is not given
   * @throws Refusal `bad_param`, or the reason
   */
  json(name: string, reason: ReasonCode = 'bad_param'): unknown {
    const value = this.once(name, reason);
    if (typeof value !== 'string') return value;
    try {
      return parseJsonBody(Buffer.from(value));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      throw badParam(name, reason, `is a text, but not one of JSON. ${inItsPlace(error.message)}`);
    }
  }

  /** Whoever sends a field twice means one of them, and nobody knows which. */
  private once(name: string, reason: ReasonCode = 'bad_param'): unknown {
    if (!this.has(name)) return undefined;
    const value = this.given[name];
    if (this.isForm && Array.isArray(value)) throw badParam(name, reason, 'is given more than once.');
    return value;
  }
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

/** The body's own words, said of a value inside it. */
function inItsPlace(message: string): string {
  return message.replace(/^The body/, 'The text');
}

/** `@Given() given: Arguments`: the arguments in the body of a POST. */
export const Given = createParamDecorator((_data: unknown, context: ExecutionContext): Arguments => {
  const { headers, body } = context.switchToHttp().getRequest<FastifyRequest>();
  return Arguments.of(body, /^application\/x-www-form-urlencoded/i.test(headers['content-type'] ?? ''));
});

export function missingParam(name: string): Refusal {
  return new Refusal('missing_param', `${name} is required here.`, { param: name });
}

/** @param what of the parameter, in words that follow its name */
export function badParam(name: string, reason: ReasonCode, what: string): Refusal {
  const param = name.slice(0, longestParam).toWellFormed();
  return new Refusal(reason, `${param} ${what}`, { param });
}
