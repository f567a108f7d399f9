/* The version, in one place. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#define VERSION "0.2.0"

#endif
