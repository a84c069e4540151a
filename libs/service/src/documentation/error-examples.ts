import type { Problem } from '@certwright/errors';
import type { RenderProblem } from '../http/problem-response';

export interface Reference {
  readonly $ref: string;
}

/** A Response Object of OpenAPI. */
export interface ErrorResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content: {
    readonly 'application/json': {
      readonly schema: Reference;
      readonly examples: Record<string, Reference>;
    };
  };
}

interface Example {
  readonly status: number;
  readonly body: object;
  readonly hasRetryAfter: boolean;
}

const retryAfter = { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } };

/** The errors that the OpenAPI document of an API shows, in the dialect of that API. */
export class ErrorExamples<Name extends string> {
  readonly #examples: ReadonlyMap<string, Example>;

  /**
   * @param problems by name; the name is the code, or says which of several errors with this code it is
   * @param schemaName of the error object among the document's schemas
   */
  constructor(
    problems: Readonly<Record<Name, Problem>>,
    render: RenderProblem,
    private readonly schemaName: string,
  ) {
    this.#examples = new Map(
      Object.entries<Problem>(problems).map(([name, problem]) => {
        const { status, body } = render(problem);
        return [name, { status, body, hasRetryAfter: problem.retryAfterS !== undefined }];
      }),
    );
  }

  /** The document's `components.examples`. */
  components(): Readonly<Record<string, { readonly value: object }>> {
    return Object.fromEntries([...this.#examples].map(([name, { body }]) => [name, { value: body }]));
  }

  /** @param reasons name of an error → when an operation fails so. @returns the responses, by status */
  responses(reasons: Readonly<Partial<Record<Name, string>>>): Readonly<Record<number, ErrorResponse>> {
    const byStatus = new Map<number, [name: string, reason: string][]>();
    for (const [name, reason] of Object.entries<string | undefined>(reasons)) {
      if (reason === undefined) continue;
      const { status } = this.#example(name);
      byStatus.set(status, [...(byStatus.get(status) ?? []), [name, reason]]);
    }
    return Object.fromEntries([...byStatus].map(([status, errors]) => [status, this.#response(errors)]));
  }

  #response(errors: readonly (readonly [name: string, reason: string])[]): ErrorResponse {
    const waits = errors.some(([name]) => this.#example(name).hasRetryAfter);
    return {
      description: [...new Set(errors.map(([, reason]) => reason))].join('; '),
      ...(waits ? { headers: retryAfter } : {}),
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${this.schemaName}` },
          examples: Object.fromEntries(
            errors.map(([name]) => [name, { $ref: `#/components/examples/${name}` }]),
          ),
        },
      },
    };
  }

  #example(name: string): Example {
    const example = this.#examples.get(name);
    if (example === undefined) throw new Error(`there is no example of the error ${name}`);
    return example;
  }
}
