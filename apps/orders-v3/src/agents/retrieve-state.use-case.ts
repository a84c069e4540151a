import { Problem } from '@certwright/errors';
import { emptyResponse, type HttpResponse, jsonResponse } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { notAnAgent } from '../wire/problems';
import type { Agent } from './agent-directory';
import type { StateQuery } from './agent-requests';
import { AgentStates } from './agent-states';
import { WaitingAgents } from './waiting-agents';

/** So that agents that are refused together do not come back together, s. */
const retryAfterS = { min: 2, max: 10 };

const stateType = { 'content-type': 'application/json; charset=utf-8' };

@Injectable()
export class RetrieveState {
  constructor(
    private readonly states: AgentStates,
    private readonly waiting: WaitingAgents,
  ) {}

  /**
   * What changed in the cluster after the version that the agent has. An agent with a version waits without a statement:
   * the sweep notices a change within a second.
   *
   * @param onDisconnect gets the function to call when the client disconnects
   * @returns null when the client has disconnected
   * @throws Problem `bad_credentials` when the agent was removed meanwhile; `service_outage` when too many wait
   */
  async run(
    agent: Agent,
    { after, wait }: StateQuery,
    onDisconnect: (disconnected: () => void) => void,
  ): Promise<HttpResponse | null> {
    if (after === 0 || wait === 0) return await this.now(agent, after);
    const ends = this.waiting.wait(agent, after, wait * 1_000, onDisconnect);
    if (ends === null) throw tooManyWait();
    const end = await ends;
    switch (end.kind) {
      case 'state':
        return { status: 200, headers: stateType, body: end.json };
      case 'removed':
        throw notAnAgent();
      case 'disconnected':
        return null;
      case 'timeout':
      case 'ended':
        return emptyResponse;
    }
  }

  private async now({ id, accountId, cluster }: Agent, after: number): Promise<HttpResponse> {
    const state = await this.states.of(id, { accountId, name: cluster }, after);
    if (state === 'removed') throw notAnAgent();
    if (state === null) return emptyResponse;
    return { ...jsonResponse(200, null), body: state };
  }
}

function tooManyWait(): Problem {
  const { min, max } = retryAfterS;
  return new Problem('service_outage', 'Too many agents wait here. Please try again.', {
    retryAfterS: min + Math.floor(Math.random() * (max - min + 1)),
  });
}
