import type { FastifyInstance, FastifyReply, RouteShorthandOptions } from 'fastify';
import { type ProblemHandling, sendProblem } from '../http/problem-filter';
import {
  ApiDocumentation,
  type DocumentationResponse,
  type DocumentedApi,
  documentationPaths,
} from './api-documentation';

/** The root of an API, its documentation and its OpenAPI document: for anybody, without a database. */
export function registerDocumentationRoutes(
  instance: FastifyInstance,
  api: DocumentedApi,
  handling: ProblemHandling,
): void {
  const documentation = new ApiDocumentation(api);
  const { roots, docs, assets, openApi } = documentationPaths(api.path);
  const options: RouteShorthandOptions = {
    config: { access: { kind: 'public' } },
    // Nest installs its own handler of errors only for the routes that come after it.
    errorHandler: (error, request, reply) => sendProblem(error, request, reply, handling),
  };
  for (const root of roots)
    instance.get(root, options, async ({ headers }, reply) =>
      send(reply, await documentation.root(headers.accept)),
    );
  instance.get(docs, options, async (_request, reply) => send(reply, await documentation.page()));
  instance.get<{ Params: { readonly asset: string } }>(assets, options, async ({ params, headers }, reply) =>
    send(reply, await documentation.asset(params.asset, headers['accept-encoding'])),
  );
  instance.get(openApi, options, async (_request, reply) => send(reply, await documentation.openApi()));
}

/** As bytes: to a text Fastify adds a charset. */
function send(reply: FastifyReply, { headers, body }: DocumentationResponse): FastifyReply {
  return reply.code(200).headers(headers).send(Buffer.from(body));
}
