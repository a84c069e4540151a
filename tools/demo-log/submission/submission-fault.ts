/** Why a submission is not taken; told to whoever made it. */
export class SubmissionFault extends Error {}
