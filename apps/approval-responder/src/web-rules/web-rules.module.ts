import { ApprovalsModule } from '@certwright/approvals';
import { Module } from '@nestjs/common';
import { ChallengesController } from './challenges.controller';

/** Target of the accounts' web server rules. */
@Module({ imports: [ApprovalsModule], controllers: [ChallengesController] })
export class WebRulesModule {}
