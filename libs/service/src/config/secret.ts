import { inspect } from 'node:util';

const masked = '[secret]';

/** A text that shows itself only to who asks for it by name: templates, JSON, logs and the debugger get a mask. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return masked;
  }

  toJSON(): string {
    return masked;
  }

  [inspect.custom](): string {
    return masked;
  }
}
