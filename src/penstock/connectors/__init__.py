"""Connectors: where records come from and where they go.

A source has an enumerator in the user's process and a reader in the workers, a sink has writers in
the workers and a committer in the user's process (`penstock.core.io` says what each must do).

What holds when a process of the job is killed at any moment and the job goes on from its
checkpoint directory (without one, a job that dies is started anew):

Sources:

| source                           | can be read again | each record is processed                 |
| -------------------------------- | ----------------- | ---------------------------------------- |
| collection, elements             | yes               | exactly once                             |
| number sequence, data generator  | yes               | exactly once                             |
| text files                       | yes               | exactly once; files must not change      |
| socket                           | no: logged        | exactly once from the log on; what had   |
|                                  |                   | been sent but not been logged is lost    |
| source function                  | no: logged        | exactly once if records and attributes   |
|                                  |                   | change under the checkpoint lock; else   |
|                                  |                   | some may be repeated or be left out      |

Sinks, behind any source whose records are processed exactly once:

| sink                             | each record is written                                       |
| -------------------------------- | ------------------------------------------------------------ |
| print                            | exactly once; twice if the process dies while it prints      |
| text file, CSV file              | exactly once                                                 |
| collect                          | exactly once in a running program; a program that is started |
|                                  | again gets the records from where the job goes on            |
| socket                           | at least once, as long as the server reads on                |

A machine that loses power may lose what the operating system had not yet written to its disk.
"""
