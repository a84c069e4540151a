/** What a text in the environment means, or why it means nothing. A fault completes the sentence "NAME …". */
export type Reading<T> = { readonly value: T } | { readonly fault: string };

/**
 * One setting: its entry in the manual and how its text is read. `T` is what the application gets, `null` included
 * when the default says so.
 */
export interface Setting<T> {
  readonly meaning: string;
  /** As the manual prints it: the unit, the range or the accepted words. */
  readonly unit: string;
  /** Absent: the process does not start without the setting. */
  readonly default?: T;
  /** A secret is never printed, in a fault neither, and may come from the file that `NAME_FILE` names. */
  readonly secret: boolean;
  read(text: string): Reading<T>;
  /** How the manual prints a default. */
  show(value: T): string;
}

export interface Described<D> {
  readonly meaning: string;
  /** `null` makes the setting optional. */
  readonly default?: D;
}

interface Kind<T> {
  readonly unit: string;
  readonly secret?: boolean;
  readonly read: (text: string) => Reading<T>;
  readonly show?: (value: T) => string;
}

/** Puts a kind and its description together. */
export function settingOf<T, D extends T | null>(kind: Kind<T>, described: Described<D>): Setting<T | D> {
  const show = kind.show ?? String;
  return {
    meaning: described.meaning,
    unit: kind.unit,
    secret: kind.secret ?? false,
    read: kind.read,
    show: (value) => (value === null ? 'none' : show(value as T)),
    ...('default' in described ? { default: described.default as D } : {}),
  };
}
