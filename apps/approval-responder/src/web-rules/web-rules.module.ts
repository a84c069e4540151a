import { ApprovalsModule } from '@certwright/approvals';
import { Module } from '@nestjs/common';
import { ChallengesController } from './challenges.controller';

/** Where the web server rules of accounts lead to. */
@Module({ imports: [ApprovalsModule], controllers: [ChallengesController] })
export class WebRulesModule {}
