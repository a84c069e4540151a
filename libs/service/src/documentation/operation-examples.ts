type Json = Readonly<Record<string, unknown>>;

/** Examples of one operation of an OpenAPI document. */
export interface OperationExamples {
  /** Name → body. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** Name → body as a form, where its fields differ from the members of the JSON body. */
  readonly form?: Readonly<Record<string, unknown>>;
  /** Media type → its description and examples: bodies that are not JSON. */
  readonly otherTypes?: Readonly<Record<string, object>>;
  /** Status → body. */
  readonly responses?: Readonly<Record<number, unknown>>;
}

interface MediaTypes {
  readonly content?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: MediaTypes;
  readonly responses: Readonly<Record<string, MediaTypes>>;
}

const formType = 'application/x-www-form-urlencoded';

/**
 * Puts examples into a document.
 *
 * @param examples by `operationId`
 * @throws Error when an example is for an operation, a body or a status that the document does not have
 */
export function withExamples<D extends { readonly paths: object }>(
  document: D,
  examples: Readonly<Record<string, OperationExamples>>,
): D {
  const left = new Set(Object.keys(examples));
  const paths = mapValues(document.paths as Readonly<Record<string, Json>>, (item) =>
    mapValues(item, (value) => {
      const operation = value as Operation;
      const own = examples[operation.operationId];
      left.delete(operation.operationId);
      return own === undefined ? operation : exemplified(operation, own);
    }),
  );
  if (left.size > 0) throw new Error(`no operation is called ${[...left].join(', ')}`);
  return { ...document, paths };
}

function exemplified(
  operation: Operation,
  { request, form = request, otherTypes = {}, responses = {} }: OperationExamples,
): Operation {
  const { operationId, requestBody } = operation;
  for (const status of Object.keys(responses))
    if (operation.responses[status]?.content === undefined)
      throw new Error(`${operationId} has no response ${status} with a body`);
  if (request !== undefined && requestBody === undefined)
    throw new Error(`${operationId} has no request body`);
  const ofType = (type: string) => namedExamples((type === formType ? form : request) ?? {});
  return {
    ...operation,
    ...(requestBody === undefined ? {} : { requestBody: withTypes(filled(requestBody, ofType), otherTypes) }),
    responses: mapValues(operation.responses, (response, status) =>
      Object.hasOwn(responses, status)
        ? filled(response, () => namedExamples({ success: responses[Number(status)] }))
        : response,
    ),
  };
}

const withTypes = (body: MediaTypes, types: Readonly<Record<string, object>>): MediaTypes => ({
  ...body,
  content: { ...body.content, ...types },
});

function filled(body: MediaTypes, examplesOf: (type: string) => Json): MediaTypes {
  return {
    ...body,
    content: mapValues(body.content ?? {}, (media, type) => ({ ...media, examples: examplesOf(type) })),
  };
}

const namedExamples = (values: Json): Json => mapValues(values, (value) => ({ value }));

function mapValues<V, W>(
  object: Readonly<Record<string, V>>,
  map: (value: V, key: string) => W,
): Record<string, W> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
