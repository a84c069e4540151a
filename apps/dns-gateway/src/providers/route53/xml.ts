import { ProviderFault } from '../provider-fault';

const provider = 'Amazon Route 53';

/** An element of an AWS document: names, children and text. Other XML features are not supported. */
export class XmlElement {
  constructor(
    readonly name: string,
    private readonly children: readonly XmlElement[],
    private readonly content: string,
  ) {}

  /** @throws ProviderFault when there is none, or more than one */
  child(name: string): XmlElement {
    const [only, ...others] = this.all(name);
    if (only !== undefined && others.length === 0) return only;
    throw malformed(`${this.name} has ${only === undefined ? 'no' : 'more than one'} ${name}`);
  }

  optional(name: string): XmlElement | null {
    return this.all(name).length === 0 ? null : this.child(name);
  }

  all(name: string): readonly XmlElement[] {
    return this.children.filter((child) => child.name === name);
  }

  /** @throws ProviderFault when it contains elements */
  text(): string {
    if (this.children.length > 0) throw malformed(`${this.name} is no text`);
    return this.content;
  }
}

const deepest = 16;

/**
 * Parses a complete document whose root has this name. Document type declarations, processing instructions, comments
 * and CDATA are undocumented in these responses and are refused: nothing is expanded or fetched.
 *
 * @throws ProviderFault `unavailable`
 */
export function readXml(text: string, root: string): XmlElement {
  const reader = new Reader(text.replace(/^\uFEFF?<\?xml [^<>?]*\?>/, ''));
  const element = reader.document();
  if (element.name !== root) throw malformed(`it is not a ${root}`);
  return element;
}

class Reader {
  #at = 0;

  constructor(private readonly text: string) {}

  document(): XmlElement {
    this.#match(/\s*/y);
    const element = this.#element(0);
    this.#match(/\s*/y);
    if (this.#at !== this.text.length) throw malformed('something follows its end');
    return element;
  }

  #element(depth: number): XmlElement {
    if (depth > deepest) throw malformed('it is nested too deeply');
    const open = this.#match(/<([A-Za-z][\w.-]*)((?:\s+[A-Za-z][\w:.-]*="[^"<]*")*)\s*(\/?)>/y);
    const [, name = '', , empty = ''] = open ?? [];
    if (open === null) throw malformed('an element is expected');
    if (empty === '/') return new XmlElement(name, [], '');
    const children: XmlElement[] = [];
    let content = '';
    for (;;) {
      content += unescaped(this.#match(/[^<]*/y)?.[0] ?? '');
      if (this.text.startsWith('</', this.#at)) break;
      children.push(this.#element(depth + 1));
    }
    const close = this.#match(/<\/([A-Za-z][\w.-]*)\s*>/y);
    if (close?.[1] !== name) throw malformed('an element is not closed');
    if (children.length > 0 && content.trim() !== '') throw malformed('there is text between elements');
    return new XmlElement(name, children, content);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.text);
    if (match !== null) this.#at = pattern.lastIndex;
    return match;
  }
}

const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

function unescaped(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));|&/gi,
    (_, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities.get(name) ?? unknownEntity();
      if (decimal === undefined && hex === undefined) return unknownEntity();
      const point = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : unknownEntity();
    },
  );
}

function unknownEntity(): never {
  throw malformed('it has an unknown entity');
}

/** For text between tags. */
export const escapedXml = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

const malformed = (how: string): ProviderFault =>
  new ProviderFault('unavailable', `${provider} did not respond as documented: ${how}.`);
