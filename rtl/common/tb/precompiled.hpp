// What testbenches and models of every design include, compiled once (rtl/rtl.py): reading it takes longer than most designs do.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "verilated.h"
