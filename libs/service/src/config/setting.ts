/** The value of a text in the environment, or what is wrong with it. A fault completes the sentence "NAME …". */
export type Reading<T> = { readonly value: T } | { readonly fault: string };

/**
 * One setting: its entry in the manual, and how to read it. `T` is the type of the value; it includes `null` when the
 * default is `null`.
 */
export interface Setting<T> {
  readonly meaning: string;
  /** As the manual prints it: the unit, the range or the accepted values. */
  readonly unit: string;
  /** Absent: the process does not start without the setting. */
  readonly default?: T;
  /** A secret is never printed, not even in an error, and may come from the file named by `NAME_FILE`. */
  readonly secret: boolean;
  read(text: string): Reading<T>;
  /**
   * Of a secret whose file is read again while the process runs.
   *
   * @param value of the file at the start
   * @param again reads the file
   */
  follow?(value: T, again: () => Reading<T>): T;
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
  readonly follow?: (value: T, again: () => Reading<T>) => T;
}

export function settingOf<T, D extends T | null>(kind: Kind<T>, described: Described<D>): Setting<T | D> {
  const show = kind.show ?? String;
  return {
    meaning: described.meaning,
    unit: kind.unit,
    secret: kind.secret ?? false,
    read: kind.read,
    ...(kind.follow && { follow: kind.follow as Setting<T | D>['follow'] }),
    show: (value) => (value === null ? 'none' : show(value as T)),
    ...('default' in described ? { default: described.default as D } : {}),
  };
}
