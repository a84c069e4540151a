/** RFC 3339, UTC, without fractions. */
export function timestamp(instant: Date): string;
export function timestamp(instant: Date | null): string | null;
export function timestamp(instant: Date | null): string | null {
  return instant === null ? null : `${instant.toISOString().slice(0, 19)}Z`;
}
