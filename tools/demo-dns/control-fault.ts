/** The words of the platform's APIs, as far as the control needs them, with their statuses. */
export const STATUSES = {
  bad_request: 400,
  missing_field: 400,
  invalid_value: 400,
  unauthorized: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  request_too_large: 413,
  unsupported_media_type: 415,
} as const;
export type ControlCode = keyof typeof STATUSES;

/** What is wrong with a request to the control; told to its sender as it is. */
export class ControlFault extends Error {
  constructor(
    readonly code: ControlCode,
    message: string,
    readonly field?: string,
    /** HTTP methods that the path does answer. */
    readonly allow?: readonly string[],
  ) {
    super(message);
    this.name = 'ControlFault';
  }
}
