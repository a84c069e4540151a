/** RFC 3339, UTC, without fractions. */
export function timestamp(instant: Date): string {
  return `${instant.toISOString().slice(0, 19)}Z`;
}
