/**
 * What may be odd about a certificate that is read all the same; the words are stored and counted, so that
 * none changes its meaning. `cut_off`: an element ends after what is around it. `ber_length`: a length in
 * another form than DER's. `no_tbs`: nothing that could be a TBSCertificate. `wrong_tag`, `missing_part`: of
 * a part of the TBSCertificate. `time_form`: a time was read that is written in another form than RFC 5280's.
 * `alternative_names`: they could not be read to their end. `dropped_name`: a text that stands for a name and
 * cannot be one. `poison`: there is one where none belongs, or none where one does.
 */
export const readingFaults = [
  'no_tbs',
  'cut_off',
  'ber_length',
  'trailing_bytes',
  'wrong_tag',
  'missing_part',
  'serial',
  'negative_serial',
  'not_before',
  'not_after',
  'time_form',
  'duplicate_extension',
  'alternative_names',
  'common_name',
  'dropped_name',
  'poison',
] as const;

export type ReadingFault = (typeof readingFaults)[number];

const none: readonly ReadingFault[] = Object.freeze([]);

/** Collects faults, each once. */
export class Faults {
  private found: ReadingFault[] | undefined;

  add(fault: ReadingFault): void {
    if (this.found === undefined) this.found = [fault];
    else if (!this.found.includes(fault)) this.found.push(fault);
  }

  list(): readonly ReadingFault[] {
    return this.found ?? none;
  }
}
