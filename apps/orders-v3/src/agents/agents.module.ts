import { OrderingModule } from '@certwright/ordering';
import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module';
import { AgentDirectory } from './agent-directory';
import { AgentOrders } from './agent-orders.repository';
import { AgentSignatures } from './agent-signatures';
import { AgentStates } from './agent-states';
import { AgentSweep, AgentWork, EndWaitingAgents, waitingAgents } from './agent-sweep';
import { AgentTasks } from './agent-tasks.repository';
import { AgentsController } from './agents.controller';
import { ClusterChangesRepository } from './cluster-changes.repository';
import { EnrolAgent } from './enrol-agent.use-case';
import { ExchangeKeys } from './exchange-keys.use-case';
import { LastSeen } from './last-seen';
import { ReceiveReport } from './receive-report.use-case';
import { RetrieveState } from './retrieve-state.use-case';
import { Rollouts } from './rollouts.repository';
import { CsrContext, SubmitCsr } from './submit-csr.use-case';

/** What the agents of clusters call, and what is done for those that wait. */
@Module({
  imports: [OrderingModule, OrdersModule],
  controllers: [AgentsController],
  providers: [
    AgentDirectory,
    AgentOrders,
    AgentSignatures,
    AgentStates,
    AgentSweep,
    AgentTasks,
    AgentWork,
    ClusterChangesRepository,
    CsrContext,
    EndWaitingAgents,
    EnrolAgent,
    ExchangeKeys,
    LastSeen,
    ReceiveReport,
    RetrieveState,
    Rollouts,
    SubmitCsr,
    waitingAgents,
  ],
})
export class AgentsModule {}
