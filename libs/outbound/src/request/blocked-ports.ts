/**
 * Ports of other protocols. Some of their servers execute lines of text within an HTTP request, most of which is
 * controlled by the author of the URL: a request could send mail or a command in our name.
 * https://fetch.spec.whatwg.org/#port-blocking (0 is refused with the URL)
 */
const blockedPorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Why HTTP requests to a port are refused, as a sentence; null when they are allowed. */
export function portRefusal(port: number): string | null {
  if (port === 0) return 'Port 0 is not a port.';
  return blockedPorts.has(port)
    ? `Port ${port} is reserved for a protocol other than HTTP. Use another port.`
    : null;
}
