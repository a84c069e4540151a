/** A setting for every log, and exceptions for some. */
export interface PerLog<T> {
  of(log: { readonly description: string; readonly url: string }): T;
}

/**
 * @param texts one without `=`, the default for all logs, and exceptions as `log=value`
 * @returns null when a text is invalid, or the default is missing
 */
export function perLog<T>(texts: readonly string[], read: (text: string) => T | null): PerLog<T> | null {
  const exceptions = new Map<string, T>();
  let usual: T | null = null;
  for (const text of texts) {
    const split = text.lastIndexOf('=');
    const value = read(text.slice(split + 1).trim());
    if (value === null) return null;
    if (split < 0) usual = value;
    else exceptions.set(nameKey(text.slice(0, split)), value);
  }
  if (usual === null) return null;
  const forAll = usual;
  return {
    of: ({ description, url }) =>
      exceptions.get(nameKey(description)) ?? exceptions.get(nameKey(url)) ?? forAll,
  };
}

/** Descriptions and URLs are written by hand: case and a trailing slash are ignored. */
export function nameKey(name: string): string {
  return name.trim().toLowerCase().replace(/\/$/, '');
}
