import type { DerElement } from './der-element';
import { DerError } from './der-error';
import { tags } from './der-primitives';
import { expectUniversal, isContext, isUniversal } from './der-values';

/** Reads the elements of one constructed element in order. `end` rejects unread ones. */
export class DerReader {
  private position = 0;

  private constructor(
    private readonly parent: DerElement,
    private readonly what: string,
  ) {}

  static sequence(element: DerElement, what: string): DerReader {
    return new DerReader(expectUniversal(element, tags.sequence, what), what);
  }

  /** A SET OF under its own tag, whose order the parser has checked. */
  static setOf(element: DerElement, what: string): DerReader {
    return new DerReader(expectUniversal(element, tags.set, what), what);
  }

  /**
   * A SET OF under an implicit tag that the caller has recognized, in any order: X.690, section 11.6, requires ascending order, but common software
   * does not sort.
   */
  static unsortedSetOf(element: DerElement, what: string): DerReader {
    if (!element.constructed) throw new DerError(`${what} is not constructed`, element.offset);
    return new DerReader(element, what);
  }

  next(what: string): DerElement {
    const element = this.parent.children[this.position];
    if (element === undefined) throw new DerError(`${this.what} has no ${what}`, this.parent.offset);
    this.position++;
    return element;
  }

  nextSequence(what: string): DerReader {
    return DerReader.sequence(this.next(what), what);
  }

  /** Reads the next element if it has this context tag. */
  optionalContext(tagNumber: number): DerElement | undefined {
    return this.takeIf((element) => isContext(element, tagNumber));
  }

  optionalUniversal(tagNumber: number): DerElement | undefined {
    return this.takeIf((element) => isUniversal(element, tagNumber));
  }

  optionalAny(): DerElement | undefined {
    return this.takeIf(() => true);
  }

  /** All remaining elements, at least `minimum`. */
  rest(minimum: number, what: string): readonly DerElement[] {
    const rest = this.parent.children.slice(this.position);
    if (rest.length < minimum) throw new DerError(`${this.what} has no ${what}`, this.parent.offset);
    this.position = this.parent.children.length;
    return rest;
  }

  /** Rejects unread elements: no structure read here is extensible at its end. */
  end(): void {
    const element = this.parent.children[this.position];
    if (element !== undefined)
      throw new DerError(`${this.what} has more elements than it may have`, element.offset);
  }

  private takeIf(accepts: (element: DerElement) => boolean): DerElement | undefined {
    const element = this.parent.children[this.position];
    if (element === undefined || !accepts(element)) return undefined;
    this.position++;
    return element;
  }
}

/** The one element inside an EXPLICIT tag. */
export function explicitContent(element: DerElement, what: string): DerElement {
  const [content, more] = element.children;
  if (content === undefined || more !== undefined)
    throw new DerError(`${what} does not hold one element`, element.offset);
  return content;
}
